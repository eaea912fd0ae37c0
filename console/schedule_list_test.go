package console_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestOrdersAndFiltersOfTheList(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	v.make(t, "a-yearly", schedule.Spec{Cron: []string{"@yearly"}})
	v.make(t, "b-soon", schedule.Spec{Cron: []string{"* * * * *"}})
	v.make(t, "c-paused", daily)
	require.NoError(t, v.api.Pause(t.Context(), "c-paused", ""))
	rows := func(more string) (ids []string) {
		page := v.open("/ns/default/schedules" + more)
		require.Equal(t, 200, page.status, page.body)
		for _, found := range regexp.MustCompile(`<th scope="row"[^>]*><a[^>]*>([^<]*)`).FindAllStringSubmatch(page.body, -1) {
			ids = append(ids, found[1])
		}
		return ids
	}
	natstest.Eventually(t, patience, "the search knows all", func() bool {
		return len(rows("?query=paused+%3D+true")) == 1 && len(rows("?query=nextTime+is+not+null")) == 2
	})
	assert.Equal(t, []string{"a-yearly", "b-soon", "c-paused"}, rows(""))
	assert.Equal(t, []string{"b-soon", "a-yearly", "c-paused"}, rows("?sort=nextTime"))
	assert.Equal(t, []string{"b-soon", "a-yearly"}, rows("?sort=nextTime&query="+url.QueryEscape("paused = false")))
	assert.Equal(t, []string{"c-paused", "b-soon", "a-yearly"}, rows("?sort=nextTime&query="+url.QueryEscape("order by id desc")), "a query with an order keeps it")
	assert.Equal(t, []string{"a-yearly", "b-soon", "c-paused"}, rows("?sort=nonsense"))
	counts := v.open("/ns/default/schedule-counts")
	assert.Regexp(t, `All</a> <small>3</small>`, counts.body)
	assert.Regexp(t, `Paused</a> <small>1</small>`, counts.body)
	assert.Contains(t, v.open("/ns/default/schedules?query=paused+%3D+true").body, `aria-current="page">Paused`)
	mistake := v.open("/ns/default/schedules?query=id+%3D%3D+1")
	assert.Regexp(t, `<pre tabindex="0">id == 1\n\s+\^</pre>`, mistake.body)
	assert.NotContains(t, mistake.body, "No schedule is found.")
}

func TestAuditOfASchedule(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	v.make(t, "a", schedule.Spec{Cron: []string{"* * * * *"}})
	require.NoError(t, v.api.Pause(t.Context(), "a", ""))
	require.Contains(t, v.submit("/ns/default/schedules/a/trigger", nil).body, "A run has been asked for.")
	natstest.Eventually(t, patience, "the run has begun", func() bool {
		d, err := v.api.Describe(t.Context(), "a")
		return err == nil && d.Info.ActionCount == 1
	})
	const path = "/ns/default/schedules/a/audit"
	assert.NotContains(t, v.open(path).body, "What became of the times")
	assert.Contains(t, v.open(path+"?from=&to=").body, "All is explained")
	assert.Contains(t, v.open(path+"?from=soon&to=").body, "<code>from</code>: is &#34;soon&#34;")
	assert.Equal(t, 404, v.open("/ns/default/schedules/none/audit").status)
	page := v.open(path + "?from=&to=&fate=started")
	assert.Less(t, len(page.body), 150_000)
	assert.False(t, strings.Contains(page.body, "Findings"))
}
