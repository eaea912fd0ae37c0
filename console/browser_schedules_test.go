package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
