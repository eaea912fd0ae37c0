package console_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestCalendarOfASchedule(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "a", schedule.Spec{Cron: []string{"30 8,9,10,11,12,13 * * *"}, TimeZone: "Europe/Berlin"})
	v.make(t, "dense", schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}})
	year := strconv.Itoa(time.Now().Year() + 1)
	page := v.open("/ns/default/schedules/a/calendar?month=" + year + "-02")
	require.Equal(t, 200, page.status, page.body)
	assert.Contains(t, page.body, "February "+year)
	assert.Contains(t, page.body, `href="?month=`+year+`-01" rel="prev"`)
	assert.Contains(t, page.body, `href="?month=`+year+`-03" rel="next"`)
	assert.Contains(t, page.body, `<time datetime="`+year+`-02-28" class="number">28</time>`)
	assert.NotContains(t, page.body, year+"-03-01\"")
	assert.Contains(t, page.body, `<time datetime="`+year+`-02-28T07:30:00Z"`, "half past eight in Berlin")
	assert.Equal(t, strings.Count(page.body, `class="number"`), strings.Count(page.body, "and 2 more"))

	dense := v.open("/ns/default/schedules/dense/calendar?month=" + year + "-02")
	assert.Contains(t, dense.body, "The month has more times to come than are shown here")
	assert.Contains(t, dense.body, "and at least 996 more")
	assert.Less(t, len(dense.body), 150_000)
	assert.Contains(t, v.open("/ns/default/schedules/a/calendar").body, `aria-current="date"`)
	assert.Equal(t, 400, v.open("/ns/default/schedules/a/calendar?month=soon").status)
	assert.Equal(t, 404, v.open("/ns/default/schedules/none/calendar").status)
}

func TestBackfillIsShownFirst(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "a", schedule.Spec{Cron: []string{"0 * * * *"}, TimeZone: "Europe/Berlin"})
	const path = "/ns/default/schedules/a/backfill"
	form := v.open(path)
	assert.Contains(t, form.body, "From, in Europe/Berlin")
	fields := url.Values{"start": {"2026-03-01T00:00"}, "end": {"2026-03-03T23:59"}, "overlap": {"buffer_all"}, "request": {form.hidden(t, "request")}, "do": {"preview"}}
	shown := v.submit(path, fields)
	assert.Contains(t, shown.body, "Start 72 runs")
	assert.Contains(t, shown.body, `datetime="2026-02-28T23:00:00Z"`)
	assert.Contains(t, shown.body, "… 32 others …")
	assert.Contains(t, shown.body, `datetime="2026-03-03T22:00:00Z"`)
	assert.Contains(t, shown.body, "<option selected>buffer_all</option>")
	d, err := v.api.Describe(t.Context(), "a")
	require.NoError(t, err)
	assert.Empty(t, d.Info.Backfills, "nothing has begun")

	fields.Set("end", "2027-03-03T23:59")
	many := v.submit(path, fields)
	assert.Contains(t, many.body, "Start more than 1000 runs")
	assert.Contains(t, many.body, `datetime="2027-03-03T22:00:00Z"`, "the last one")
	for end, problem := range map[string]string{"": "<code>end</code>: is missing", "noon": "<code>end</code>: is &#34;noon&#34;", "2026-02-01T00:00": `role="alert"`} {
		fields.Set("end", end)
		assert.Contains(t, v.submit(path, fields).body, problem)
	}

	fields.Set("end", "2026-03-01T05:00")
	fields.Set("do", "start")
	for range 2 { // the same form twice is one backfill
		assert.Contains(t, v.submit(path, fields).body, "The backfill has begun.")
	}
	d, err = v.api.Describe(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, d.Info.Backfills, 1)
	page := v.open("/ns/default/schedules/a")
	assert.Contains(t, page.body, "Cancel the backfill from 2026-03-01 00:00:00")
	canceled := v.submit("/ns/default/schedules/a/cancel-backfill", url.Values{"backfill": {d.Info.Backfills[0].BackfillID}})
	assert.Contains(t, canceled.body, "The backfill ends")
}

func TestTriggerWithOtherInput(t *testing.T) {
	t.Parallel()
	v := visit(t)
	_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: "a", Schedule: schedule.Schedule{
		Action: schedule.Action{Type: "t", TaskQueue: "q", Input: []byte(`{"month":"2026-01"}`)},
	}})
	require.NoError(t, err)
	const path = "/ns/default/schedules/a/trigger"
	form := v.open(path)
	assert.Contains(t, form.body, "&#34;month&#34;: &#34;2026-01&#34;")
	fields := url.Values{"input": {"{\n  \"month\": oops}"}, "overlap": {"allow_all"}, "note": {"by finance"}, "request": {form.hidden(t, "request")}}
	mistake := v.submit(path, fields)
	assert.Contains(t, mistake.body, "<code>input</code>: is not JSON: invalid character &#39;o&#39; looking for beginning of value at line 2, character 12")
	assert.Contains(t, mistake.body, "oops}", "what was written is still there")
	assert.Contains(t, mistake.body, "<option selected>allow_all</option>")
	fields.Set("input", `{"month": "2026-02"}`)
	fields.Set("nominal", "2026-02-01T00:00")
	assert.Contains(t, v.submit(path, fields).body, "A run has been asked for.")
	history, err := v.api.History(t.Context(), schedule.HistoryRequest{ID: "a", Newest: true, PageSize: 1})
	require.NoError(t, err)
	assert.Equal(t, schedule.EventTriggered, history.Events[0].Kind)
	assert.Equal(t, "by finance", history.Events[0].Reason)
	assert.Equal(t, 404, v.submit("/ns/default/schedules/none/trigger", nil).status)

	again := url.Values{"request": {v.open("/ns/default/schedules/a").hidden(t, "request")}}
	for range 2 { // the same form twice is one run
		assert.Contains(t, v.submit(path, again).body, "A run has been asked for.")
	}
	history, err = v.api.History(t.Context(), schedule.HistoryRequest{ID: "a", Kinds: []schedule.EventKind{schedule.EventTriggered}})
	require.NoError(t, err)
	assert.Len(t, history.Events, 2)
}

func TestSkipAndUnskip(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "a", daily)
	assert.Contains(t, v.submit("/ns/default/schedules/a/skip", nil).body, "Do not skip")
	d, err := v.api.Describe(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, d.Info.Skips, 1)
	at := d.Info.Skips[0]
	assert.Contains(t, v.open("/ns/default/schedules/a/calendar?month="+at.Format("2006-01")).body, "<s>09:00</s>")
	shown := v.submit("/ns/default/schedules/a/unskip", url.Values{"time": {at.Format(time.RFC3339)}})
	assert.Contains(t, shown.body, "The time will not be skipped.")
	assert.NotContains(t, shown.body, "Do not skip")
	assert.Equal(t, 400, v.submit("/ns/default/schedules/a/unskip", nil).status)
}

func TestHistoryOfASchedule(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "a", daily)
	for i := range 60 {
		require.NoError(t, v.api.Pause(t.Context(), "a", strconv.Itoa(i)))
		require.NoError(t, v.api.Unpause(t.Context(), "a", ""))
	}
	const path = "/ns/default/schedules/a/history"
	page := v.open(path)
	assert.Contains(t, page.body, "the newest first")
	assert.Equal(t, 101, strings.Count(page.body, "<tr>"), "with that of the head")
	assert.NotContains(t, page.body, "<td>created</td>")
	first := v.open(path + "?from=2020-01-01T00:00")
	assert.Contains(t, first.body, "<td>created</td>")
	_, next, found := strings.Cut(first.body, `<a href="`+"?after=")
	require.True(t, found)
	next, _, _ = strings.Cut(next, `"`)
	last := v.open(path + "?after=" + strings.ReplaceAll(next, "&amp;", "&"))
	assert.Equal(t, 22, strings.Count(last.body, "<tr>"))
	assert.Equal(t, 61, strings.Count(v.open(path+"?kind=paused").body, "<tr>"))
	assert.Contains(t, v.open(path+"?to=2020-01-01T00:00").body, "Nothing yet.")
	require.NoError(t, v.api.Delete(t.Context(), "a"))
	assert.Contains(t, v.open(path).body, "<td>deleted</td>")
}

// TestPagesOfALargeScheduleStaySmall: nothing that a schedule has makes a page large.
func TestPagesOfALargeScheduleStaySmall(t *testing.T) {
	t.Parallel()
	v := visit(t)
	long := strings.Repeat(`"`, 255)
	input := `"` + strings.Repeat("<", 500_000) + `"`
	_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: long, Schedule: schedule.Schedule{
		Action: schedule.Action{Type: long, TaskQueue: long, Input: []byte(input)}, State: schedule.State{Notes: strings.Repeat("<", 4000)},
	}})
	require.NoError(t, err)
	for i := range 60 {
		id := strings.Repeat("ä&", 84) + strconv.Itoa(i)
		_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
			Spec: daily, Action: schedule.Action{Type: long, TaskQueue: long},
		}})
		require.NoError(t, err)
	}
	for range 15 {
		require.NoError(t, v.api.Pause(t.Context(), long, strings.Repeat("<", 4000)))
		require.NoError(t, v.api.Unpause(t.Context(), long, strings.Repeat("<", 4000)))
	}
	const most = 150_000
	one := "/ns/default/schedules/" + url.PathEscape(long)
	for _, path := range []string{"", "/trigger", "/copy", "/edit", "/calendar", "/runs", "/backfill", "/history"} {
		assert.Less(t, len(v.open(one+path).body), most, path)
	}
	list := v.open("/ns/default/schedules")
	assert.Less(t, len(list.body), most)
	assert.Contains(t, v.open(one+"/copy").body, "carillon schedule export")
	assert.Equal(t, 409, v.open(one+"/edit").status)
}
