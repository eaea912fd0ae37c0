package taskqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var (
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	reports = Queue{"default", "reports"}
	oldest  = &WaitingRun{
		Sequence: 17, Since: noon.Add(-time.Hour), Key: schedule.Key{Namespace: "default", ID: "nightly"}, RunID: "r1",
	}
	heldOne = &WaitingRun{Sequence: 3, Since: noon.Add(-2 * time.Hour), RunID: "held"}
)

func waits(run *WaitingRun) observation {
	return observation{Queue: reports, Status: Status{Waiting: 1, Oldest: run}, All: 1, First: run}
}

func holds(heard bool) observation {
	return observation{Queue: reports, Status: Status{Held: 1, Waiting: 1, Oldest: oldest}, Heard: heard, All: 2, First: heldOne}
}

func pulls() observation { return observation{Queue: reports, Status: Status{Pulling: true}} }

// TestTracker makes an observation every 15 seconds from noon on.
func TestTracker(t *testing.T) {
	t.Parallel()
	idle := observation{Queue: reports}
	young := &WaitingRun{Sequence: 18, Since: noon.Add(40 * time.Second), RunID: "r2"}
	for _, test := range []struct {
		name string
		seen []observation
		// at is the index of the observation that raises the alarm, -1 for none. since is how long after noon the alarm's Since
		// is.
		at    int
		since time.Duration
		run   string
	}{
		{"nobody ever", []observation{waits(oldest), waits(oldest), waits(oldest), waits(oldest), waits(oldest)}, 4, 0, "r1"},
		{"not long enough", []observation{waits(oldest), waits(oldest), waits(oldest), waits(oldest)}, -1, 0, ""},
		{"somebody asks", []observation{pulls(), pulls(), pulls(), pulls(), pulls(), pulls()}, -1, 0, ""},
		{
			"somebody asked meanwhile",
			[]observation{waits(oldest), waits(oldest), pulls(), waits(oldest), waits(oldest), waits(oldest), waits(oldest)}, -1, 0, "",
		},
		{
			"the worker has gone",
			[]observation{pulls(), waits(oldest), waits(oldest), waits(oldest), waits(oldest), waits(oldest)}, 5, 15 * time.Second, "r1",
		},
		{"nothing waits", []observation{idle, idle, idle, idle, idle, idle}, -1, 0, ""},
		{
			"the run has come later",
			[]observation{idle, idle, idle, waits(young), waits(young), waits(young), waits(young)}, -1, 0, "",
		},
		{
			"long enough after it came",
			[]observation{idle, idle, idle, waits(young), waits(young), waits(young), waits(young), waits(young)}, 7,
			40 * time.Second, "r2",
		},
		{
			"busy", []observation{holds(false), holds(true), holds(true), holds(true), holds(true), holds(true), holds(true)}, -1, 0, "",
		},
		{
			"died with a run", []observation{pulls(), holds(false), holds(false), holds(false), holds(false), holds(false)}, 5,
			15 * time.Second, "held",
		},
		{
			"died after a sign", []observation{holds(true), holds(true), holds(false), holds(false), holds(false), holds(false)}, 5,
			15 * time.Second, "held",
		},
		{
			"the server took the held run back",
			[]observation{holds(false), waits(oldest), waits(oldest), waits(oldest), waits(oldest)}, 4, 0, "r1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tracker := newTracker(time.Minute)
			for i, o := range test.seen {
				now := noon.Add(time.Duration(i) * 15 * time.Second)
				alarms := tracker.observe(now, []observation{o})
				if i != test.at {
					require.Empty(t, alarms, "observation %d", i)
					continue
				}
				require.Len(t, alarms, 1)
				assert.Equal(t, noon.Add(test.since), alarms[0].Since)
				assert.Equal(t, test.run, alarms[0].Run.RunID)
			}
		})
	}
}

func TestTrackerRepeatsAnAlarmUntilTold(t *testing.T) {
	t.Parallel()
	tracker := newTracker(time.Minute)
	look := func(minute int, o observation) int {
		return len(tracker.observe(noon.Add(time.Duration(minute)*time.Minute), []observation{o}))
	}
	assert.Equal(t, 0, look(0, waits(oldest)))
	assert.Equal(t, 1, look(1, waits(oldest)))
	assert.Equal(t, 1, look(2, waits(oldest)))
	tracker.told(reports)
	assert.Equal(t, 0, look(3, waits(oldest)))
	assert.Equal(t, 0, look(4, pulls()))
	assert.Equal(t, 0, look(5, waits(oldest)))
	assert.Equal(t, 1, look(6, waits(oldest)), "gone again")
}

func TestTrackerForgetsQueues(t *testing.T) {
	t.Parallel()
	tracker := newTracker(time.Minute)
	tracker.observe(noon, []observation{waits(oldest)})
	assert.Equal(t, []gauge{{Queue: reports, waiting: 1, oldest: time.Hour}}, tracker.gauges())
	tracker.observe(noon, []observation{pulls()})
	assert.Equal(t, []gauge{{Queue: reports, served: true}}, tracker.gauges())
	tracker.observe(noon, nil)
	assert.Empty(t, tracker.gauges())
	tracker.told(reports)
}

// TestNoAlarmWhileServed draws any observations. There is no alarm while the last sign of a worker, or the run, is younger than
// the threshold.
func TestNoAlarmWhileServed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tracker := newTracker(time.Minute)
		now, sign := noon, noon
		for range rapid.IntRange(1, 40).Draw(t, "observations") {
			now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
			run := &WaitingRun{Since: now.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "age")) * time.Second)}
			o := observation{
				Queue:  reports,
				Status: Status{Pulling: rapid.Bool().Draw(t, "pulling"), Held: rapid.IntRange(0, 1).Draw(t, "held"), Waiting: 1, Oldest: run},
				All:    2, First: run,
			}
			o.Heard = o.Held > 0 && !o.Pulling && rapid.Bool().Draw(t, "heard")
			if o.Pulling || o.Heard {
				sign = now
			}
			for _, a := range tracker.observe(now, []observation{o}) {
				if now.Sub(sign) < time.Minute || now.Sub(run.Since) < time.Minute || now.Sub(a.Since) < time.Minute {
					t.Fatalf("alarm at %s, last sign at %s, run since %s", now, sign, run.Since)
				}
			}
		}
	})
}

func TestEventOfAnAlarm(t *testing.T) {
	t.Parallel()
	a := alarm{Queue: reports, Run: *oldest, Waiting: 3, Since: noon.Add(-time.Minute)}
	assert.Equal(t, schedule.Event{
		ID: "no_worker-CARILLON_ACTIONS-17", Time: noon, Namespace: "default", ScheduleID: "nightly",
		Kind: schedule.EventNoWorker, RunID: "r1", TaskQueue: "reports", Count: 3,
		Reason: `no worker on task queue "reports" since 2026-03-01T11:59:00Z, the oldest run waits since 2026-03-01T11:00:00Z`,
	}, eventOf(subjects.Default(), a, noon))
}

func TestParseSubject(t *testing.T) {
	t.Parallel()
	names := subjects.Default()
	for _, q := range []Queue{{"default", "reports"}, {"payments", "a.b c"}, {"x", "ü>*"}} {
		for _, subject := range []string{names.Action(q.Namespace, q.Name, "w"), names.ActionQueue(q.Namespace, q.Name)} {
			parsed, ok := parseSubject(names, subject)
			assert.True(t, ok, subject)
			assert.Equal(t, q, parsed)
		}
	}
	for _, bad := range []string{"", "carillon.action.>", "carillon.action.default.a=2.w", "other.action.default.q.w"} {
		_, ok := parseSubject(names, bad)
		assert.False(t, ok, bad)
	}
}

// TestManyQueuesAreFewGauges: a client that invents task queues makes no more series than its namespace may have, and takes none
// from another namespace. The sum includes queues without a series.
func TestManyQueuesAreFewGauges(t *testing.T) {
	t.Parallel()
	var all []gauge
	for i := range 1500 {
		all = append(all, gauge{
			Queue: Queue{Namespace: "many", Name: fmt.Sprintf("q-%04d", i)}, waiting: 2, held: 1, pulls: 3, served: true,
			oldest: time.Duration(i) * time.Second,
		})
	}
	few := gauge{Queue: Queue{Namespace: "few", Name: "q"}, waiting: 1}
	idle := gauge{Queue: Queue{Namespace: "many", Name: "z-idle"}}
	named := gauge{Queue: Queue{Namespace: "many", Name: metrics.OtherQueues}, pulls: 5, served: true}
	shown := fold(append([]gauge{named, few, idle}, all...))
	require.Len(t, shown, 1+metrics.QueuesOfNamespace+1)
	rest := 1500 - metrics.QueuesOfNamespace
	want := gauge{
		Queue: Queue{Namespace: "many", Name: metrics.OtherQueues}, waiting: 2 * rest, held: rest, pulls: 3*rest + 5, served: true,
		oldest: 1499 * time.Second,
	}
	assert.Contains(t, shown, want)
	assert.Contains(t, shown, few)
	assert.Contains(t, shown, all[99])
	assert.NotContains(t, shown, all[100])

	all[1200].served = false
	want.served = false
	assert.Contains(t, fold(append([]gauge{named, few, idle}, all...)), want, "runs wait, and nobody serves them")
	assert.Empty(t, fold(nil))
}

// TestManyNamespacesAreFewGauges: each has a share of the series that all may have.
func TestManyNamespacesAreFewGauges(t *testing.T) {
	t.Parallel()
	var all []gauge
	for i := range 40 {
		for j := range 60 {
			all = append(all, gauge{Queue: Queue{Namespace: fmt.Sprint(i), Name: fmt.Sprint(j)}, waiting: 1, served: true})
		}
	}
	shown, waiting := fold(all), 0
	assert.Len(t, shown, metrics.Queues+40)
	for _, g := range shown {
		waiting += g.waiting
	}
	assert.Equal(t, 40*60, waiting)
}
