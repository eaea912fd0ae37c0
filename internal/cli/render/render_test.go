package render_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/schedule"
)

var now = time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC)

// full has something in every section, in a zone whose clocks change between the next times.
func full() schedule.Description {
	start := now.Add(-time.Minute)
	run := func(nominal time.Time, status schedule.Status) schedule.Run {
		r := schedule.Run{
			WorkflowID: "report-" + nominal.Format(time.RFC3339), NominalTime: nominal, DueTime: nominal.Add(time.Second),
			StartTime: nominal.Add(time.Second + 3*time.Millisecond), Status: status,
		}
		if status != "" {
			r.CodeTime, r.CloseTime = r.StartTime.Add(1500*time.Microsecond), r.StartTime.Add(4*time.Second)
		}
		return r
	}
	manual := run(start, "")
	manual.Manual = true
	return schedule.Description{
		Namespace: "default", ID: "report",
		Schedule: schedule.Schedule{
			Spec: schedule.Spec{
				Intervals:           []schedule.Interval{{Every: schedule.Duration(time.Hour), Phase: schedule.Duration(5 * time.Minute)}},
				Cron:                []string{"30 23 * * *"},
				Calendars:           []schedule.Calendar{{Hour: "9", DayOfWeek: "mon-fri", Comment: "office hours"}},
				StructuredCalendars: []schedule.StructuredCalendar{{Hour: []schedule.Range{{Start: 1, End: 3}}}},
				At:                  []time.Time{time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)},
				ExcludeCalendars:    []schedule.Calendar{{Hour: "*", Minute: "*", Second: "*", DayOfMonth: "1", Month: "jan"}},
				ExcludeDates:        []schedule.DateRange{"2026-12-24/2026-12-26"},
				Blackouts: []schedule.Blackout{{
					From: time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC), To: time.Date(2026, 5, 2, 2, 0, 0, 0, time.UTC),
				}},
				DST:       schedule.DST{Gap: schedule.GapShift, Repeat: schedule.RepeatFirst},
				StartTime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
				EndTime:   time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
				Jitter:    schedule.Duration(2 * time.Second), TimeZone: "Europe/Berlin",
			},
			Action: schedule.Action{
				Type: "report", TaskQueue: "reports", WorkflowID: "report", Input: json.RawMessage(`{"format":"pdf"}`),
				RunTimeout: schedule.Duration(time.Minute), RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3},
			},
			Policies: schedule.Policies{
				Overlap: schedule.OverlapBufferOne, ConcurrencyLimit: 2, CatchupWindow: schedule.Duration(time.Hour),
				CatchupMode:    schedule.CatchupLatest,
				PauseOnFailure: true, KeepOriginalWorkflowID: true,
			},
			State: schedule.State{Paused: true, Notes: "until Monday", LimitedActions: true, RemainingActions: 7},
		},
		Info: schedule.Info{
			ActionCount: 42, OverlapSkipped: 1, MissedCatchupWindow: 2, BufferDropped: 3, BufferSize: 1,
			RunningWorkflows: []schedule.Run{manual},
			RecentActions: []schedule.Run{
				run(now.Add(-2*time.Hour), schedule.StatusCompleted), run(now.Add(-time.Hour), schedule.StatusTimedOut), manual,
			},
			FutureActionTimes: []time.Time{now.Add(3 * time.Minute), now.Add(4 * time.Hour), now.Add(72 * time.Hour)},
			CreateTime:        now.Add(-50 * time.Hour), UpdateTime: now.Add(-30 * time.Second),
		},
	}
}

func least() schedule.Description {
	return schedule.Description{
		Namespace: "default", ID: "ü-least", Schedule: schedule.Schedule{Action: schedule.Action{Type: "noop", TaskQueue: "default"}},
		Info: schedule.Info{CreateTime: now},
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]schedule.Description{"full": full(), "least": least()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			require.NoError(t, render.Describe(&out, &d, render.View{Now: now}))
			golden.Equal(t, "describe_"+name+".txt", out.String())
		})
	}
}

// TestDescribeAPausedSchedule: nobody should take its next times for runs to come.
func TestDescribeAPausedSchedule(t *testing.T) {
	t.Parallel()
	d := least()
	d.Info.FutureActionTimes = []time.Time{now.Add(time.Minute)}
	for paused, title := range map[bool]string{false: "Next times (UTC)", true: "Next times, if it were not paused (UTC)"} {
		d.State.Paused = paused
		var out strings.Builder
		require.NoError(t, render.Describe(&out, &d, render.View{Now: now}))
		assert.Contains(t, out.String(), title)
	}
}

func TestDescribeSaysWhichZoneData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pools, frontend, want string }{
		{"2026f", "2026f", "  zone data  2026f\n"},
		{"2026f", "2026g", "  zone data  2026f; the frontend has 2026g\n"},
		{"", "2026g", "  zone data  not known of the next times; the frontend has 2026g\n"},
		{"", "", ""},
	} {
		d := least()
		d.Spec.Cron = []string{"0 9 * * *"}
		d.Info.ZoneData, d.Info.FrontendZoneData = test.pools, test.frontend
		var out strings.Builder
		require.NoError(t, render.Describe(&out, &d, render.View{Now: now}))
		assert.Contains(t, out.String(), test.want)
		assert.Equal(t, test.want != "", strings.Contains(out.String(), "zone data"))
	}
}

func TestDescribeInColour(t *testing.T) {
	t.Parallel()
	d := full()
	var plain, coloured strings.Builder
	require.NoError(t, render.Describe(&plain, &d, render.View{Now: now}))
	require.NoError(t, render.Describe(&coloured, &d, render.View{Now: now, Color: true}))
	assert.NotContains(t, plain.String(), "\x1b")
	stripped := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(coloured.String(), "")
	assert.Equal(t, plain.String(), stripped, "colours change nothing but colours")
}

func TestList(t *testing.T) {
	t.Parallel()
	active := full()
	active.ID, active.State = "active", schedule.State{}
	active.Info.RecentActions = active.Info.RecentActions[:2]
	usedUp := least()
	usedUp.State.LimitedActions = true
	var out strings.Builder
	require.NoError(t, render.List(&out, []schedule.Description{full(), active, usedUp}, render.View{Now: now}))
	golden.Equal(t, "list.txt", out.String())
}

func TestEmptyList(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, render.List(&out, nil, render.View{Now: now}))
	assert.Equal(t, "no schedules\n", out.String())
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for distance, want := range map[time.Duration]string{
		0: "now", 999 * time.Millisecond: "now", -999 * time.Millisecond: "now",
		time.Second: "in 1s", 59 * time.Second: "in 59s", -time.Minute: "1m ago", 3*time.Minute + 59*time.Second: "in 3m",
		5 * time.Hour: "in 5h", 47 * time.Hour: "in 47h", -48 * time.Hour: "2d ago",
	} {
		assert.Equal(t, want, render.Relative(now.Add(distance), now), distance)
	}
}

func TestMillis(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0.0 ms", 340 * time.Microsecond: "0.3 ms", -2 * time.Millisecond: "-2.0 ms", 12345 * time.Microsecond: "12 ms",
		999 * time.Millisecond: "999 ms", 2010 * time.Millisecond: "2.01 s", 45 * time.Second: "45 s", 200 * time.Second: "3m20s",
	} {
		assert.Equal(t, want, render.Millis(d))
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "äöü", render.Shorten("äöü", 3))
	assert.Equal(t, "äö…", render.Shorten("äöüß", 3))
}
