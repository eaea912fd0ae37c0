package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestBulk(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	assert.Contains(t, v.open("/ns/default/jobs").body, "There are none.")
	for i := range 23 {
		v.make(t, fmt.Sprintf("<a>%02d", i), daily)
	}
	const path = "/ns/default/jobs"
	none := v.submit(path, url.Values{"operation": {"pause"}, "which": {"picked"}})
	assert.Contains(t, none.body, "<code>id</code>: is missing")
	all := v.submit(path, url.Values{"operation": {"pause"}, "which": {"found"}})
	assert.Contains(t, all.body, "all schedules of the namespace")
	assert.Contains(t, all.body, "pause 23 schedules")
	assert.Contains(t, all.body, "and 3 more")
	fields := url.Values{"operation": {"pause"}, "which": {"found"}, "query": {"id starts_with '<a>0'"}, "note": {"moving"}}
	natstest.Eventually(t, patience, "the search finds them", func() bool {
		return strings.Contains(v.submit(path, fields).body, "pause 10 schedules")
	})
	fields.Set("request", v.submit(path, fields).hidden(t, "request"))
	fields.Set("do", "start")
	began := v.submit(path, fields)
	assert.Contains(t, began.body, "The bulk operation has begun.")
	again := v.submit(path, fields)
	job := regexp.MustCompile(`<code>([^<]*)</code></dd>\s*</dl>`)
	assert.Equal(t, job.FindStringSubmatch(began.body), job.FindStringSubmatch(again.body), "the same form twice is one operation")
	address := path + "/" + job.FindStringSubmatch(began.body)[1]
	natstest.Eventually(t, patience, "it is done", func() bool {
		return strings.Contains(v.open(address).body, `<span class="state good">done</span>`)
	})
	page := v.open(address)
	assert.Contains(t, page.body, `<progress max="10" value="10"`)
	assert.Contains(t, page.body, "moving")
	assert.NotContains(t, page.body, "Cancel")
	d, err := v.api.Describe(t.Context(), "<a>09")
	require.NoError(t, err)
	assert.True(t, d.State.Paused)
	assert.Contains(t, v.open(path).body, "all that this finds: id starts_with &#39;&lt;a&gt;0&#39;")
	assert.Equal(t, 404, v.open(path+"/none").status)

	for _, test := range []struct{ operation, more, says string }{
		{"setLabel", "", "<code>label.name</code>"}, {"delete", "", `<option value="">queued ones are withdrawn`}, {"trigger", "overlap=buffer_one", "<option selected>buffer_one</option>"},
		{"pause", "rate=fast", "<code>rate</code>: is &#34;fast&#34;"}, {"nothing", "", `role="alert"`},
	} {
		fields, err := url.ParseQuery(test.more)
		require.NoError(t, err)
		fields.Set("operation", test.operation)
		fields.Set("which", "found")
		assert.Contains(t, v.submit(path, fields).body, test.says, test.operation)
	}
	slow := v.submit(path, url.Values{"operation": {"unpause"}, "which": {"found"}, "rate": {"1"}, "do": {"start"}})
	require.Contains(t, slow.body, "Cancel")
	canceled := v.submit(path+"/"+job.FindStringSubmatch(slow.body)[1]+"/cancel", nil)
	assert.Contains(t, canceled.body, "is being canceled")
}
