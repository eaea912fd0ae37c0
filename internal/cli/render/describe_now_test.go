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
	"github.com/carillon-scheduler/carillon/schedule"
)

func uncoloured(text string) string {
	return regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(text, "")
}

// described returns the lines of a description, without the colours.
func described(t *testing.T, change func(*schedule.Description)) string {
	t.Helper()
	d := least()
	d.Spec.TimeZone = "Europe/Berlin"
	change(&d)
	var out strings.Builder
	require.NoError(t, render.Describe(&out, &d, render.View{Now: now, Color: true}))
	return uncoloured(out.String())
}

func TestDescribeShows(t *testing.T) {
	t.Parallel()
	info := func(info schedule.Info) func(*schedule.Description) {
		return func(d *schedule.Description) { d.Info = info }
	}
	for name, test := range map[string]struct {
		change func(*schedule.Description)
		want   []string
		not    string
	}{
		"who paused it, and why": {
			func(d *schedule.Description) {
				d.State = schedule.State{Paused: true, Notes: "until\nMonday"}
				d.Info.PausedBy, d.Info.PauseTime = "ada@host", now.Add(-2*time.Hour)
				d.Info.Reasons = []schedule.Notice{{Code: schedule.NoticePaused, Message: "paused by ada@host"}}
			},
			[]string{"State      paused by ada@host, 2h ago\n", "Notes      until Monday\n"}, "What holds it up",
		},
		"that it is exhausted": {
			info(schedule.Info{
				Reasons:      []schedule.Notice{{Code: schedule.NoticeExhausted, Message: "no time is to come"}},
				IdleDeadline: now.Add(7 * 24 * time.Hour),
			}),
			[]string{
				"State      exhausted\n", "Closes     Sun 2026-04-05 00:30:00 CEST, in 7d\n",
				"\nWhat holds it up\n  no time is to come\n",
			}, "",
		},
		"its version": {func(d *schedule.Description) { d.ConflictToken = 12 }, []string{"Version    12 (conflict token)\n"}, ""},
		"warnings": {
			info(schedule.Info{Warnings: []schedule.Notice{{Code: "dst_gap", Message: "cron: the clock skips it"}}}),
			[]string{"\nWarnings\n  cron: the clock skips it\n"}, "What holds it up",
		},
		"what to skip": {
			info(schedule.Info{Skips: []time.Time{now.Add(time.Hour)}}),
			[]string{"\nTimes to skip (Europe/Berlin)\n  Sun 2026-03-29 00:30:00 CET  in 1h\n"}, "",
		},
		"what runs": {
			info(schedule.Info{RunningWorkflows: []schedule.Run{{
				WorkflowID: "w-1", NominalTime: now, DueTime: now, StartTime: now.Add(5 * time.Millisecond), TaskQueue: "q",
			}}}),
			[]string{
				"\nRunning (Europe/Berlin)\n  NOMINAL              STARTED  LATE    TASK QUEUE  WORKFLOW\n",
				"  2026-03-28 23:30:00  now      5.0 ms  q           w-1\n",
			}, "Ended",
		},
		"what waits": {
			info(schedule.Info{BufferSize: 12, Buffer: []schedule.WaitingStart{
				{NominalTime: now, Phase: schedule.PhaseDeferred, Overlap: schedule.OverlapBufferAll, Manual: true, Source: "b-1"},
				{NominalTime: now, Phase: schedule.PhaseReady, Attempt: 3, BackoffUntil: now.Add(8 * time.Second)},
				{NominalTime: now, Phase: schedule.PhaseReady, Attempt: 1},
				{NominalTime: now, Phase: schedule.PhasePending},
			}}),
			[]string{
				"\nWaiting, the first 4 of 12 (Europe/Berlin)\n",
				"  2026-03-28 23:30:00  buffer_all  a run to end                  b-1\n",
				"  2026-03-28 23:30:00  skip        attempt 3 to start it, in 8s  the schedule\n",
				"  its run to be accepted", "  its turn",
			}, "",
		},
		"what a limit delays": {
			info(schedule.Info{BufferSize: 3, Buffer: []schedule.WaitingStart{
				{NominalTime: now, Phase: schedule.PhasePending, Delay: &schedule.Delay{By: schedule.DelayPendingRuns}},
				{NominalTime: now, Phase: schedule.PhasePending, Delay: &schedule.Delay{By: schedule.DelayActionRate}},
				{NominalTime: now, Phase: schedule.PhasePending, Delay: &schedule.Delay{
					By: schedule.DelayActionRate, NotBefore: now.Add(2 * time.Second),
				}},
			}}),
			[]string{
				"  other runs of the namespace to end  ", "  its turn among the starts of the namespace  ",
				"  its turn among the starts of the namespace, in 2s  ",
			}, "its run to be accepted",
		},
		"backfills": {
			info(schedule.Info{Backfills: []schedule.BackfillProgress{
				{BackfillID: "t-1", RequestTime: now, Trigger: true, Total: 1},
				{
					BackfillID: "b-1", RequestTime: now.Add(-time.Minute), Start: now.Add(-time.Hour), End: now, Identity: "ada@host",
					Overlap: schedule.OverlapBufferAll, Done: 3, Total: 9, HighWaterMark: now, Canceled: true,
				},
			}}),
			[]string{
				"\nTriggers and backfills (Europe/Berlin)\n",
				"  t-1  now     -         -           trigger              -                    0/1\n",
				"  b-1  1m ago  ada@host  buffer_all  2026-03-28 22:30:00  2026-03-28 23:30:00  3/9  up to Sat 2026-03-28 23:30:00 CET  being canceled\n",
			}, "",
		},
		"what came of runs": {
			info(schedule.Info{RecentActions: []schedule.Run{{
				WorkflowID: "w-1", NominalTime: now, DueTime: now, StartTime: now, CodeTime: now.Add(2 * time.Millisecond),
				CloseTime: now.Add(time.Second), Status: schedule.StatusTimedOut, Attempt: 2,
				Outcome: schedule.Outcome{Failure: &schedule.Failure{Message: "boom", Type: "bang"}},
			}}}),
			[]string{
				"\nEnded (Europe/Berlin)\n  NOMINAL              STATUS     LATE    TOOK    WORKFLOW  OUTCOME\n",
				"  2026-03-28 23:30:00  timed out  2.0 ms  998 ms  w-1       attempt 2, boom (bang)\n",
			}, "Running (",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := described(t, test.change)
			for _, want := range test.want {
				assert.Contains(t, text, want)
			}
			if test.not != "" {
				assert.NotContains(t, text, test.not)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	runs := []schedule.Run{
		{ScheduleID: "a", RunID: "r-2", WorkflowID: "w-2", NominalTime: now, DueTime: now, StartTime: now, Manual: true},
		{
			ScheduleID: "b", RunID: "r-1", WorkflowID: "w-1", NominalTime: now, DueTime: now, StartTime: now, CodeTime: now,
			CloseTime: now.Add(time.Second), Status: schedule.StatusCompleted, Attempt: 2, Worker: "vm-1",
			Outcome: schedule.Outcome{Result: json.RawMessage("7")},
		},
	}
	var one, several strings.Builder
	require.NoError(t, render.Runs(&one, runs, false, berlin(t), render.View{Now: now}))
	assert.Equal(t, "NOMINAL (CET)               STATUS     LATE    TOOK    ATTEMPTS  WORKER  RUN  WORKFLOW  OUTCOME\n"+
		"2026-03-28 23:30:00 manual  running    0.0 ms  -       -         -       r-2  w-2\n"+
		"2026-03-28 23:30:00         completed  0.0 ms  1.00 s  2         vm-1    r-1  w-1       result 7\n", one.String())
	require.NoError(t, render.Runs(&several, runs, true, berlin(t), render.View{Now: now}))
	assert.Contains(t, several.String(), "SCHEDULE  NOMINAL (CET)")
	assert.Contains(t, several.String(), "\nb         2026-03-28 23:30:00         completed")

	var none strings.Builder
	require.NoError(t, render.Runs(&none, nil, true, time.UTC, render.View{Now: now}))
	assert.Equal(t, "no runs\n", none.String())
}

func TestRun(t *testing.T) {
	t.Parallel()
	reply := schedule.RunReply{
		Run: schedule.Run{
			ScheduleID: "a", RunID: "r-1", WorkflowID: "w-1", RequestID: "q-1", NominalTime: now, DueTime: now.Add(time.Second),
			StartTime: now.Add(1003 * time.Millisecond), CodeTime: now.Add(1005 * time.Millisecond), CloseTime: now.Add(2005 * time.Millisecond),
			Status: schedule.StatusFailed, Attempt: 2, Worker: "vm-1", TaskQueue: "q", Source: schedule.SourceAuto,
			Outcome: schedule.Outcome{
				Failure: &schedule.Failure{Message: "boom", Type: "bang", Details: json.RawMessage(`{"a":1}`)}, ResultBytes: 9,
			},
		},
		Events: []schedule.Event{{Kind: schedule.EventStarted, Time: now, Nominal: now, Actual: now, WorkflowID: "w-1"}},
	}
	var out strings.Builder
	require.NoError(t, render.Run(&out, &reply, time.UTC, render.View{Now: now.Add(time.Minute)}))
	assert.Equal(t, `Run         r-1
Workflow    w-1
Schedule    a
Status      failed
Nominal     Sat 2026-03-28 22:30:00 UTC
Due         Sat 2026-03-28 22:30:01.000 UTC
Started     Sat 2026-03-28 22:30:01.003 UTC, 58s ago, 3.0 ms late
Code began  Sat 2026-03-28 22:30:01.005 UTC, 5.0 ms late
Ended       Sat 2026-03-28 22:30:02.005 UTC, 57s ago, took 1.00 s
Attempts    2
Task queue  q
Worker      vm-1
Request     q-1

Failure
  message  boom
  type     bang
  details  {"a":1}

Result
  9 bytes, which are not kept in the history

What happened
  TIME (UTC)               WHAT                NOMINAL                   LATE
  2026-03-28 22:30:00.000  started             2026-03-28 22:30:00     0.0 ms  w-1
`, out.String())
}

func TestTimes(t *testing.T) {
	t.Parallel()
	d := least()
	d.Spec.TimeZone = "Europe/Berlin"
	d.Info.Skips = []time.Time{now.Add(time.Hour)}
	times := []schedule.DueTime{
		{NominalTime: now.Add(-time.Hour), DueTime: now.Add(-time.Hour)},
		{NominalTime: now.Add(time.Hour), DueTime: now.Add(time.Hour)},
		{NominalTime: now.Add(2 * time.Hour), DueTime: now.Add(2 * time.Hour)},
	}
	show := func() string {
		var out strings.Builder
		require.NoError(t, render.Times(&out, &d, times, render.View{Now: now}))
		return out.String()
	}
	assert.Equal(t, "Europe/Berlin\n"+
		"Sat 2026-03-28 22:30:00 CET  1h ago\n"+
		"Sun 2026-03-29 00:30:00 CET  in 1h   to be skipped\n"+
		"Sun 2026-03-29 01:30:00 CET  in 2h\n", show())

	d.State.Paused, times[2].DueTime = true, times[2].DueTime.Add(1500*time.Millisecond)
	assert.Contains(t, show(), "Europe/Berlin                DUE WITH JITTER\n")
	assert.Contains(t, show(), "Sun 2026-03-29 01:30:00 CET  2026-03-29 01:30:01.500  in 2h   paused\n")
	d.State = schedule.State{LimitedActions: true}
	assert.Contains(t, show(), "no action left")
	times = nil
	assert.Equal(t, "no times\n", show())
}
