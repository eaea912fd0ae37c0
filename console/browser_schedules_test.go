package console_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// scheduleJourneys are what people do with schedules and runs where workers run them.
var scheduleJourneys = map[string]func(t *testing.T, j *journey){
	"trigger with other input": func(t *testing.T, j *journey) {
		j.make(t, "to-trigger", daily)
		j.goes("/ns/default/schedules/to-trigger")
		j.clicks("Trigger with other input")
		j.types("input", `{"month": }`)
		j.clicks("Trigger")
		j.sees("is not JSON")
		j.types("input", `{"month": "2026-02"}`)
		j.clicks("Trigger")
		j.sees("A run has been asked for.")
		j.sees("completed") // without a click
		d, err := j.api.Describe(t.Context(), "to-trigger")
		require.NoError(t, err)
		require.Len(t, d.Info.RecentActions, 1)
	},
	"backfill with its times first": func(t *testing.T, j *journey) {
		_, err := j.api.Create(t.Context(), schedule.CreateRequest{ID: "to-backfill", Schedule: schedule.Schedule{
			Spec: daily, Action: schedule.Action{Type: "sleep", TaskQueue: "default", Input: []byte(`"1h"`)},
		}})
		require.NoError(t, err)
		j.goes("/ns/default/schedules/to-backfill/backfill")
		j.do(chromedp.SetValue("#start", "2026-03-01T00:00"), chromedp.SetValue("#end", "2026-03-10T00:00"), chromedp.SetValue("#overlap", "buffer_all"))
		j.clicks("Show the times")
		j.sees("2026-03-09 09:00:00")
		j.clicks("Start 9 runs")
		j.sees("The backfill has begun.")
		j.sees("of 9")
		j.clicks("Cancel")
		j.sees("The backfill ends")
	},
	"edit with a diff": func(t *testing.T, j *journey) {
		j.make(t, "to-differ", daily)
		j.goes("/ns/default/schedules/to-differ")
		j.clicks("Edit")
		j.types("text", "spec: {cron: [0 10 * * *]}\naction: {type: log, taskQueue: default}\n")
		j.sees("What would change") // while one types
		j.sees("+    - 0 10 * * *")
		j.clicks("Save")
		j.sees("The change is made.")
	},
	"a line of a crontab": func(t *testing.T, j *journey) {
		j.goes("/ns/default/new-schedule")
		j.clicks("From a crontab")
		j.types("line", "30 25 * * * /usr/bin/backup --all")
		j.sees("25")
		j.types("line", "30 2 * * mon /usr/bin/backup --all")
		j.sees("at 02:30 on Mondays")
		j.clicks("Change it as YAML")
		j.sees("As YAML")
		j.clicks("Create")
		j.sees("The schedule is there.")
		d, err := j.api.Describe(t.Context(), "backup")
		require.NoError(t, err)
		assert.Equal(t, "exec", d.Action.Type)
	},
	"search with a mistake": func(t *testing.T, j *journey) {
		j.make(t, "to-find", daily)
		j.goes("/ns/default/schedules")
		j.types("query", "idd = 'to-find'")
		j.clicks("Search")
		j.sees("there is no field idd: did you mean id?")
		j.clicks("id starts_with 'report-'") // a hint is a search
		j.sees("No schedule is found.")
		j.types("query", "id = 'to-find'")
		j.clicks("Search")
		j.sees("at 09:00 every day")
	},
	"bulk pause": func(t *testing.T, j *journey) {
		for _, id := range []string{"bulk-a", "bulk-b", "bulk-c"} {
			j.make(t, id, daily)
		}
		j.goes("/ns/default/schedules?query=id+starts_with+'bulk-'")
		j.sees("bulk-c")
		for _, id := range []string{"bulk-a", "bulk-c"} {
			j.do(chromedp.Click(`input[value="`+id+`"]`, chromedp.NodeVisible))
		}
		j.clicks("Preview")
		j.sees("2 schedules now")
		j.types("note", "moving the database")
		j.clicks("pause 2 schedules")
		j.sees("The bulk operation has begun.")
		j.sees("2 of 2")
		for id, paused := range map[string]bool{"bulk-a": true, "bulk-b": false, "bulk-c": true} {
			d, err := j.api.Describe(t.Context(), id)
			require.NoError(t, err)
			assert.Equal(t, paused, d.State.Paused, id)
		}
		j.clicks("Background jobs")
		j.sees("chosen one by one")
	},
	"choices outlive a look": func(t *testing.T, j *journey) {
		j.make(t, "to-choose", daily)
		j.goes("/ns/default/schedules?query=id+%3D+'to-choose'")
		j.sees("to-choose")
		j.do(chromedp.Click(`input[value="to-choose"]`, chromedp.NodeVisible))
		require.NoError(t, j.api.Pause(t.Context(), "to-choose", ""))
		j.sees("paused") // without a click
		assert.True(t, is[bool](j, `document.querySelector('input[value="to-choose"]').checked`))
	},
	"audit": func(t *testing.T, j *journey) {
		j.make(t, "to-audit", schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}})
		require.NoError(t, j.api.Pause(t.Context(), "to-audit", ""))
		j.goes("/ns/default/schedules/to-audit")
		j.clicks("History")
		j.sees("paused")
		j.clicks("Audit")
		j.do(chromedp.Click("main button.main"))
		j.sees("All is explained")
	},
	"copy": func(t *testing.T, j *journey) {
		j.make(t, "to-copy", daily)
		j.goes("/ns/default/schedules/to-copy")
		j.clicks("Copy")
		j.sees("carillon schedule create to-copy")
		j.sees("--cron '0 9 * * *'")
	},
	"a month": func(t *testing.T, j *journey) {
		j.make(t, "monthly", schedule.Spec{Cron: []string{"15 6 1 * *"}})
		j.goes("/ns/default/schedules/monthly")
		j.clicks("Calendar")
		j.clicks("Next month")
		j.sees("06:15")
		j.clicks("This month")
		assert.Equal(t, "/ns/default/schedules/monthly/calendar", is[string](j, "location.pathname"))
	},
}

// TestJourneysOfSchedules goes through the pages of schedules in a browser, while workers run them.
func TestJourneysOfSchedules(t *testing.T) {
	t.Parallel()
	of := browser(t)
	v := visitAll(t)
	for name, goes := range scheduleJourneys {
		t.Run(name, func(t *testing.T) { goes(t, v.tab(t, of)) })
	}
}

// TestPagesOfRunsAreAccessible looks at pages that have something to show only where workers run, and at previews.
func TestPagesOfRunsAreAccessible(t *testing.T) {
	t.Parallel()
	axe := axe(t)
	of := browser(t)
	v := visitAll(t)
	v.make(t, "a", daily)
	traced := telemetry.WithTraceparent(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	reply, err := v.api.TriggerAndWait(traced, schedule.TriggerRequest{ID: "a"})
	require.NoError(t, err)
	_, err = v.api.Skip(t.Context(), schedule.SkipRequest{ID: "a", Skip: schedule.Skip{Count: 1}})
	require.NoError(t, err)
	job, err := v.api.StartBulk(t.Context(), schedule.StartBulkRequest{BulkTask: schedule.BulkTask{Operation: schedule.BulkUnpause, Selection: schedule.Selection{All: true}}})
	require.NoError(t, err)
	j := v.tab(t, of)
	for _, path := range []string{
		"/ns/default/schedules", "/ns/default/schedules/a", "/ns/default/schedules/a/calendar", "/ns/default/schedules/a/runs", "/ns/default/runs",
		"/ns/default/schedules/a/history", "/ns/default/schedules/a/audit?from=&to=", "/ns/default/jobs", "/ns/default/jobs/" + job.JobID,
		"/ns/default/schedules/a/runs/" + reply.Run.RunID,
	} {
		j.goes(path)
		j.isAccessible(axe, path)
	}
	j.goes("/ns/default/schedules/a/backfill?start=2026-01-01T00:00&end=2026-03-31T00:00")
	j.clicks("Show the times")
	j.sees("Start 89 runs")
	j.isAccessible(axe, "preview of a backfill")
	j.goes("/ns/default/schedules")
	j.do(chromedp.SetValue("#which", "found"))
	j.clicks("Preview")
	j.sees("1 schedule now")
	j.isAccessible(axe, "preview of a bulk operation")
	j.goes("/ns/default/schedules/a/edit")
	j.types("text", "spec: {cron: [0 10 * * *]}\naction: {type: log, taskQueue: default}\n")
	j.sees("What would change")
	j.isAccessible(axe, "diff")
}
