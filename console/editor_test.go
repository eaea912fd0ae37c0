package console_test

import (
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// hidden returns the value of a hidden field of a page.
func (a *answer) hidden(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)">`).FindStringSubmatch(a.body)
	require.NotNil(t, found, "the page has no field %s", name)
	return found[1]
}

// TestNewSchedule: somebody makes a mistake, sees it, looks at what the schedule would do, and makes it. Sending the form again makes no other one.
func TestNewSchedule(t *testing.T) {
	t.Parallel()
	v := visit(t)
	form := v.open("/ns/default/new-schedule")
	require.Equal(t, 200, form.status)
	fields := url.Values{
		"id": {"nightly <report>"}, "cron": {"30 2 * * mon-fri\r\n61 * * * *\r\n"}, "timeZone": {"Europe/Berlin"}, "type": {"log"}, "taskQueue": {"default"},
		"input": {`{"message": "hello"}`}, "notes": {"made by hand"}, "request": {form.hidden(t, "request")}, "do": {"create"},
	}
	mistake := v.submit("/ns/default/new-schedule", fields)
	assert.Contains(t, mistake.body, "<code>spec.cron[1]</code>: minute &#34;61&#34; is out of range: use 0 to 59")
	assert.Contains(t, mistake.body, `value="nightly &lt;report&gt;"`, "what was written is still there")
	assert.Equal(t, fields.Get("request"), mistake.hidden(t, "request"))

	fields.Set("cron", "30 2 * * mon-fri")
	fields.Set("do", "preview")
	preview := v.submit("/ns/default/new-schedule", fields)
	assert.Contains(t, preview.body, "at 02:30, Monday to Friday, Europe/Berlin")
	assert.Contains(t, preview.body, `<ol class="times"><li><time datetime="`)
	fields.Set("do", "create")
	for range 2 {
		made := v.submit("/ns/default/new-schedule", fields)
		assert.Contains(t, made.body, "The schedule is there.")
		assert.Contains(t, made.body, "nightly &lt;report&gt;")
	}
	d, err := v.api.Describe(t.Context(), "nightly <report>")
	require.NoError(t, err)
	assert.JSONEq(t, `{"message":"hello"}`, string(d.Action.Input))
	assert.Equal(t, "made by hand", d.State.Notes)

	fields.Set("input", "hello")
	assert.Contains(t, v.submit("/ns/default/new-schedule", fields).body, "<code>action.input</code>: is not JSON")
	fields.Set("input", "")
	fields.Set("request", "another")
	assert.Contains(t, v.submit("/ns/default/new-schedule", fields).body, "has a schedule &#34;nightly &lt;report&gt;&#34; already")
}

func TestNewScheduleAsText(t *testing.T) {
	t.Parallel()
	v := visit(t)
	form := v.open("/ns/default/new-schedule?as=text")
	fields := url.Values{"text": {"id: a\nspec:\n  intervals: [{every: 5m}]\naction: {type: log, taskQueu: default}\n"}, "request": {form.hidden(t, "request")}, "do": {"create"}}
	assert.Contains(t, v.submit("/ns/default/new-schedule?as=text", fields).body, "<code>action.taskQueu</code>")
	fields.Set("text", "id: a\nspec:\n  intervals: [{every: 5m}]\naction: {type: log, taskQueue: default}\n")
	assert.Contains(t, v.submit("/ns/default/new-schedule?as=text", fields).body, "The schedule is there.")
	fields.Set("text", "]")
	assert.Contains(t, v.submit("/ns/default/new-schedule?as=text", fields).body, `role="alert"`)
}

// TestEditConflict: two people edit a schedule at once. The second one sees what the first one has made of it, and decides.
func TestEditConflict(t *testing.T) {
	t.Parallel()
	v := visit(t)
	_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: "a", Schedule: schedule.Schedule{
		Spec: schedule.Spec{Cron: []string{"0 1 * * *"}}, Action: schedule.Action{Type: "t", TaskQueue: "q"},
	}})
	require.NoError(t, err)
	const path = "/ns/default/schedules/a/edit"
	first, second := v.open(path), v.open(path)
	assert.Contains(t, first.body, "- 0 1 * * *")
	assert.Contains(t, first.body, "at 01:00 every day")
	text := func(hour string) string {
		return "spec: {cron: [0 " + hour + " * * *]}\naction: {type: t, taskQueue: q}\n"
	}
	save := func(page *answer, hour string) *answer {
		return v.submit(path, url.Values{"text": {text(hour)}, "token": {page.hidden(t, "token")}, "request": {page.hidden(t, "request")}, "do": {"save"}})
	}
	assert.Contains(t, save(first, "2").body, "The change is made.")
	assert.Contains(t, save(first, "2").body, "The change is made.", "the same form again")
	conflict := save(second, "3")
	assert.Contains(t, conflict.body, "<code>conflictToken</code>")
	assert.Contains(t, conflict.body, "- 0 2 * * *", "what it is now")
	assert.Contains(t, conflict.body, "cron: [0 3 * * *]", "what was written")
	assert.Contains(t, save(conflict, "3").body, "The change is made.")
	d, err := v.api.Describe(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"0 3 * * *"}, d.Spec.Cron)
	assert.Equal(t, 400, v.submit(path, url.Values{"text": {text("4")}, "token": {"x"}}).status)
	assert.Equal(t, 404, v.open("/ns/default/schedules/none/edit").status)
}

// TestWaysToSayWhen fills in the fields of a calendar, and a time.
func TestWaysToSayWhen(t *testing.T) {
	t.Parallel()
	v := visit(t)
	fields := url.Values{
		"id": {"a"}, "hour": {"9"}, "minute": {"15"}, "dayOfWeek": {"monn"}, "at": {"2099-06-01T12:00"}, "timeZone": {"Europe/Berlin"}, "type": {"log"},
		"taskQueue": {"default"}, "overlap": {"buffer_one"}, "catchupWindow": {"1h"}, "jitter": {"10s"}, "request": {"r"}, "do": {"create"},
	}
	assert.Contains(t, v.submit("/ns/default/new-schedule", fields).body, "<code>spec.calendars[0].dayOfWeek</code>")
	fields.Set("dayOfWeek", "mon")
	fields.Set("timeZone", "Nowhere")
	assert.Contains(t, v.submit("/ns/default/new-schedule", fields).body, "<code>spec.timeZone</code>")
	fields.Set("timeZone", "Europe/Berlin")
	fields.Set("at", "noon")
	assert.Contains(t, v.submit("/ns/default/new-schedule", fields).body, "<code>spec.at</code>")
	fields.Set("at", "2099-06-01T12:00")
	require.Contains(t, v.submit("/ns/default/new-schedule", fields).body, "The schedule is there.")
	d, err := v.api.Describe(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, "2099-06-01T10:00:00Z", d.Spec.At[0].Format(time.RFC3339), "noon in Berlin")
	assert.Equal(t, schedule.CalendarField("mon"), d.Spec.Calendars[0].DayOfWeek)
	assert.Equal(t, schedule.OverlapBufferOne, d.Policies.Overlap)
	assert.Equal(t, time.Hour, d.Policies.CatchupWindow.Std())
}

func TestNewScheduleFromACrontab(t *testing.T) {
	t.Parallel()
	v := visit(t)
	const path = "/ns/default/new-schedule?as=crontab"
	fields := url.Values{"line": {"61 2 * * * /usr/bin/backup"}, "timeZone": {"Europe/Berlin"}, "taskQueue": {"default"}, "request": {"r"}, "do": {"create"}}
	assert.Contains(t, v.submit(path, fields).body, "<code>line</code>")
	for _, line := range []string{"", "# nothing", "1 2 * * * a\n3 4 * * * b"} {
		fields.Set("line", line)
		assert.Contains(t, v.submit(path, fields).body, "with a command: give one")
	}
	fields.Set("line", "30 2 * * * /usr/bin/backup --all > /dev/null")
	fields.Set("id", "nightly")
	fields.Set("do", "preview")
	shown := v.submit(path, fields)
	assert.Contains(t, shown.body, "at 02:30 every day, Europe/Berlin")
	assert.Contains(t, shown.body, "/usr/bin/backup --all")
	assert.Contains(t, shown.body, "Change it as YAML")
	fields.Set("do", "create")
	require.Contains(t, v.submit(path, fields).body, "The schedule is there.")
	d, err := v.api.Describe(t.Context(), "nightly")
	require.NoError(t, err)
	assert.Equal(t, "exec", d.Action.Type)
}

// TestEditShowsWhatWouldChange: the preview of a change has the lines that differ.
func TestEditShowsWhatWouldChange(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "a", daily)
	const path = "/ns/default/schedules/a/edit"
	page := v.open(path)
	assert.NotContains(t, page.body, "What would change")
	fields := url.Values{"token": {page.hidden(t, "token")}, "request": {"r"}, "do": {"preview"}}
	fields.Set("text", "spec: {cron: [0 10 * * *]}\naction: {type: log, taskQueue: default}\nstate: {notes: <b>}\n")
	shown := v.submit(path, fields)
	assert.Contains(t, shown.body, `<span class="del">-    - 0 9 * * *</span>`)
	assert.Contains(t, shown.body, `<span class="ins">&#43;    - 0 10 * * *</span>`)
	assert.Contains(t, shown.body, "&lt;b&gt;")
	fields.Set("text", "spec: {cron: [0 9 * * *]}\naction: {type: log, taskQueue: default}\n")
	assert.Contains(t, v.submit(path, fields).body, "Nothing would change.")
	fields.Set("text", "spec: {cron: [x]}\n")
	assert.NotContains(t, v.submit(path, fields).body, "What would change")
}
