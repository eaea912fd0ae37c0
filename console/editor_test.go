package console_test

import (
	"net/url"
	"regexp"
	"testing"

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
