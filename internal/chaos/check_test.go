package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// began is when the schedule of the tests is created: it is due at 10, 20, 30, 40, 50 and 60 s after it.
var began = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }

// scene makes the evidence of one schedule.
type scene struct{ evidence }

func newScene() *scene {
	s := &scene{evidence{
		Namespace: "default", Schedules: map[string]schedule.Description{"s": {}},
		Lives: map[string]life{"w": {period: period{From: began}}, "v": {period: period{From: began}}},
	}}
	s.ask(request{operation: operation{Verb: Create, Schedule: everyTen(0)}, Since: began})
	return s
}

// everyTen is a schedule that is due every ten seconds, with a phase in seconds.
func everyTen(phase int) schedule.Schedule {
	return schedule.Schedule{Spec: schedule.Spec{
		Intervals: []schedule.Interval{{
			Every: schedule.Duration(10 * time.Second), Phase: schedule.Duration(time.Duration(phase) * time.Second),
		}},
		EndTime: second(60),
	}}
}

// ask adds an acknowledged request and its event. Without another time, it was sent and answered at once.
func (s *scene) ask(r request) {
	r.ID, r.RequestID = "s", fmt.Sprintf("request-%d", len(s.Requests))
	if r.Sent.IsZero() {
		r.Sent, r.Answered = began, began
	}
	s.Requests = append(s.Requests, r)
	s.tell(schedule.Event{Kind: eventOf[r.Verb], RequestID: r.RequestID})
}

func (s *scene) tell(e schedule.Event) {
	e.ScheduleID, e.ID = "s", fmt.Sprintf("incarnation-%s-%d", e.Kind, len(s.Events))
	s.Events = append(s.Events, e)
	d := s.Schedules["s"]
	var c wire.Counters
	c.Add(e)
	d.Info.ActionCount += c.Actions
	d.Info.OverlapSkipped += c.OverlapSkipped
	d.Info.MissedCatchupWindow += c.MissedCatchup
	d.Info.BufferDropped += c.BufferDropped
	s.Schedules["s"] = d
}

// run adds a run from its start to its end.
func (s *scene) run(source, requestID string, nominal time.Time) {
	s.tell(schedule.Event{Kind: schedule.EventStarted, Source: source, RequestID: requestID, Nominal: nominal})
	s.code("w", requestID, nominal)
	s.tell(schedule.Event{Kind: schedule.EventCompleted, RequestID: requestID, Nominal: nominal, Status: schedule.StatusCompleted})
}

// code adds what the code of a run notes.
func (s *scene) code(life, requestID string, at time.Time) {
	n := note{Life: life, At: at, ScheduleID: "s", RequestID: requestID, Nominal: at}
	s.Ledger = append(s.Ledger, n)
	n.At, n.End = at.Add(time.Second), true
	s.Ledger = append(s.Ledger, n)
}

// runs adds a run at each of the given seconds.
func (s *scene) runs(seconds ...int) {
	for _, n := range seconds {
		s.run(schedule.SourceAuto, fmt.Sprintf("auto-%d", n), second(n))
	}
}

func TestCheckOfACleanRun(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.runs(10, 20, 40, 50)
	s.tell(schedule.Event{Kind: schedule.EventSkipped, Source: schedule.SourceAuto, Nominal: second(30), Overlap: schedule.OverlapSkip})
	s.tell(schedule.Event{
		Kind: schedule.EventDropped, Source: schedule.SourceAuto, Count: 1, First: second(60), Last: second(60), Reason: "full",
	})
	f := check(&s.evidence)
	require.Empty(t, f.Problems)
	require.Equal(t, 6, f.Expected)
	require.Equal(t, 4, f.Started)
	require.Equal(t, 1, f.Skipped)
}

func TestCheckFinds(t *testing.T) {
	t.Parallel()
	all := []int{10, 20, 30, 40, 50, 60}
	for name, test := range map[string]struct {
		change func(*scene)
		runs   []int
		want   string
	}{
		"an action without account": {runs: []int{10, 20, 40, 50, 60}, want: kindMissed},
		"a run that never ends": {
			runs: all[:5], want: kindMissed,
			change: func(s *scene) {
				s.tell(schedule.Event{Kind: schedule.EventStarted, Source: schedule.SourceAuto, RequestID: "r", Nominal: second(60)})
				s.code("w", "r", second(60))
			},
		},
		"a run said to have completed whose code never began": {
			runs: all[:5], want: kindMissed,
			change: func(s *scene) {
				s.tell(schedule.Event{Kind: schedule.EventStarted, Source: schedule.SourceAuto, RequestID: "r", Nominal: second(60)})
				s.tell(schedule.Event{Kind: schedule.EventCompleted, RequestID: "r", Status: schedule.StatusCompleted})
			},
		},
		"two runs for one time": {
			runs: all, want: kindDoubled,
			change: func(s *scene) { s.run(schedule.SourceAuto, "again", second(30)) },
		},
		"code that begins twice": {
			runs: all, want: kindDoubled,
			change: func(s *scene) { s.code("v", "auto-30", second(33)) },
		},
		"a trigger without effect": {
			runs: all, want: kindLost,
			change: func(s *scene) { s.ask(request{operation: operation{Verb: Trigger}, Source: "t"}) },
		},
		"a trigger of which no event tells": {
			runs: all, want: kindLost,
			change: func(s *scene) {
				s.ask(request{operation: operation{Verb: Trigger}, Source: "t"})
				s.Events = s.Events[:len(s.Events)-1]
				s.run("t", "t-1", second(33))
			},
		},
		"a trigger that is told twice": {
			runs: all, want: kindDoubled,
			change: func(s *scene) {
				s.ask(request{operation: operation{Verb: Trigger}, Source: "t"})
				s.tell(s.Events[len(s.Events)-1])
				s.run("t", "t-1", second(33))
			},
		},
		"a backfill without effect": {
			runs: all, want: kindLost,
			change: func(s *scene) { s.ask(backfill()) },
		},
		"a backfill with a gap": {
			runs: all, want: kindMissed,
			change: func(s *scene) {
				s.ask(backfill())
				s.run("b", "b-1", began.Add(-20*time.Second))
			},
		},
		"a schedule that is gone": {
			runs: all, want: kindLost,
			change: func(s *scene) { delete(s.Schedules, "s") },
		},
		"a pause that is gone": {
			runs: all, want: kindLost,
			change: func(s *scene) {
				s.ask(request{operation: operation{Verb: Pause}, Sent: second(70), Answered: second(70)})
			},
		},
		"a run at a time that is none": {
			runs: all, want: kindUnexpected,
			change: func(s *scene) { s.run(schedule.SourceAuto, "r", second(35)) },
		},
		"code of which no event tells": {
			runs: all, want: kindUnexpected,
			change: func(s *scene) { s.code("w", "r", second(35)) },
		},
		"a run that failed": {
			runs: all[:5], want: kindUnexpected,
			change: func(s *scene) {
				s.tell(schedule.Event{Kind: schedule.EventStarted, Source: schedule.SourceAuto, RequestID: "r", Nominal: second(60)})
				s.tell(schedule.Event{Kind: schedule.EventCompleted, RequestID: "r", Status: schedule.StatusFailed})
			},
		},
		"a counter that is wrong": {
			runs: all, want: kindMiscounted,
			change: func(s *scene) {
				d := s.Schedules["s"]
				d.Info.ActionCount++
				s.Schedules["s"] = d
			},
		},
		"a run beside another": {
			runs: all[:4], want: kindOverlapped,
			change: func(s *scene) {
				for _, n := range all[4:] {
					s.tell(schedule.Event{
						Kind: schedule.EventStarted, Source: schedule.SourceAuto, RequestID: fmt.Sprint(n), Nominal: second(n),
					})
				}
				for _, n := range all[4:] {
					s.code("w", fmt.Sprint(n), second(n))
					s.tell(schedule.Event{Kind: schedule.EventCompleted, RequestID: fmt.Sprint(n), Status: schedule.StatusCompleted})
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.runs(test.runs...)
			if test.change != nil {
				test.change(s)
			}
			f := check(&s.evidence)
			require.Len(t, f.Problems, 1, "%v", f.Problems)
			require.Equal(t, test.want, f.Problems[0].Kind)
			require.Equal(t, 1, f.Missed+f.Doubled+f.Lost+f.Unexpected+f.Overlapped+f.Miscounted)
		})
	}
}

// backfill asks for the two times before the creation.
func backfill() request {
	return request{
		operation: operation{Verb: Backfill, Range: schedule.BackfillRange{Start: began.Add(-20 * time.Second), End: began.Add(-1)}},
		Source:    "b",
	}
}

// TestCodeMayBeginAgain: the code may begin again after its worker was killed or suspended, or NATS was away.
func TestCodeMayBeginAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*scene)
		reason string
	}{
		"killed":    {func(s *scene) { s.Lives["w"] = life{period: period{began, second(31)}} }, afterWorkerLost},
		"suspended": {func(s *scene) { s.Lives["w"] = life{Suspended: []period{{second(29), second(31)}}} }, afterWorkerLost},
		"outage":    {func(s *scene) { s.Outages = []period{{second(5), second(15)}} }, afterOutage},
		"late": {func(s *scene) {
			s.Lives["w"] = life{period: period{began, second(50)}, Suspended: []period{{second(1), second(2)}}}
			s.Outages = []period{{second(50), second(51)}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.runs(10, 20, 30, 40, 50, 60)
			s.code("v", "auto-30", second(41))
			test.change(s)
			f := check(&s.evidence)
			if test.reason == "" {
				require.Equal(t, 1, f.Doubled)
				return
			}
			require.Empty(t, f.Problems)
			require.Equal(t, map[string]int{test.reason: 1}, f.Repeated)
		})
	}
}

// TestTimesAroundAPause: times around a pause are certain, except those that nobody can know.
func TestTimesAroundAPause(t *testing.T) {
	t.Parallel()
	pausedFrom := func(runs ...int) Findings {
		s := newScene()
		s.runs(runs...)
		s.ask(request{operation: operation{Verb: Pause}, Sent: second(35), Answered: second(36)})
		s.ask(request{operation: operation{Verb: Unpause}, Sent: second(54), Answered: second(55)})
		return check(&s.evidence)
	}
	require.Empty(t, pausedFrom(10, 20, 30, 60).Problems)
	f := pausedFrom(10, 20, 60)
	require.Empty(t, f.Problems, "the time before the pause may have come too late")
	require.Equal(t, 3, f.Uncertain)
	require.Equal(t, 1, pausedFrom(10, 30, 60).Missed, "what comes before a time that was made, was due before the pause as well")
	require.Equal(t, 1, pausedFrom(10, 20, 30).Missed, "after the pause all are due")
	require.Equal(t, 1, pausedFrom(10, 20, 30, 40, 60).Unexpected, "within it none is")
}

func TestTimesAroundAnUpdate(t *testing.T) {
	t.Parallel()
	updated := func(runs ...int) Findings {
		s := newScene()
		s.runs(runs...)
		s.ask(request{
			operation: operation{Verb: Update, Schedule: everyTen(5)}, Sent: second(32), Answered: second(34), Since: second(33),
		})
		return check(&s.evidence)
	}
	require.Empty(t, updated(10, 20, 30, 35, 45, 55).Problems)
	require.Empty(t, updated(10, 20, 35, 45, 55).Problems)
	require.Equal(t, 1, updated(10, 20, 30, 45, 55).Missed)
	require.Equal(t, 1, updated(10, 20, 30, 35, 40, 45, 55).Unexpected)
}

// TestTimesWhileAnUpdateIsStored: such times may be made by either version, or by both.
func TestTimesWhileAnUpdateIsStored(t *testing.T) {
	t.Parallel()
	updated := func(answered int, runs ...int) Findings {
		s := newScene()
		s.runs(runs...)
		s.ask(request{
			operation: operation{Verb: Update, Schedule: everyTen(5)}, Sent: second(28), Answered: second(answered), Since: second(29),
		})
		return check(&s.evidence)
	}
	require.Empty(t, updated(36, 10, 20, 30, 35, 45, 55).Problems)
	require.Empty(t, updated(36, 10, 20, 45, 55).Problems)
	require.Equal(t, 1, updated(36, 10, 20, 30, 35, 40, 45, 55).Unexpected)
	require.Equal(t, 1, updated(36, 10, 20, 30, 35, 55).Missed)
	require.Equal(t, 1, updated(29, 10, 20, 30, 35, 45, 55).Unexpected)
}

// TestTimeThatAnUpdateMakesLater: such a time does not account for the times before it, because the previous version may have
// made none of them.
func TestTimeThatAnUpdateMakesLater(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.runs(10, 40) // with jitter, the new version makes the time at 40 s later
	jittered := everyTen(0)
	jittered.Spec.Jitter = schedule.Duration(10 * time.Second)
	s.ask(request{operation: operation{Verb: Update, Schedule: jittered}, Sent: second(42), Answered: second(42), Since: second(42)})
	var again []time.Time
	c := newCase(&s.evidence, "s", &Findings{uncertain: map[dueTime]bool{}})
	for _, due := range c.dueTimes() {
		if due.Nominal.Equal(second(40)) {
			again = append(again, due.Actual)
		}
		if due.Nominal.After(second(40)) {
			s.runs(int(due.Nominal.Sub(began) / time.Second))
		}
	}
	require.Len(t, again, 2, "the jitter is meant to move the time past the update")
	f := check(&s.evidence)
	require.Empty(t, f.Problems)
	require.Equal(t, 2, f.Uncertain, "those at 20 and 30 s")
}

// TestRequestsWithoutAnAnswer: such requests promise nothing.
func TestRequestsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.runs(10, 20, 30, 40, 50, 60)
	s.Requests = append(s.Requests,
		request{operation: operation{Verb: Trigger, ID: "s", RequestID: "t"}, Sent: second(5)},
		request{operation: operation{Verb: Pause, ID: "s", RequestID: "p"}, Sent: second(5), Answered: second(6), Refused: "no"},
		request{operation: operation{Verb: Create, ID: "other"}, Sent: second(5)},
	)
	require.Empty(t, check(&s.evidence).Problems)
}

// TestOrderOfTheStreamDoesNotMatter: events of one moment may be stored in another order.
func TestOrderOfTheStreamDoesNotMatter(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.runs(10, 20, 30, 40, 50, 60)
	n := len(s.Events)
	s.Events[n-1], s.Events[n-2] = s.Events[n-2], s.Events[n-1]
	require.Empty(t, check(&s.evidence).Problems)
}

// TestAuditIsAsked: the findings of the audit count, unless nobody can be sure of the time.
func TestAuditIsAsked(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.runs(10, 20, 40, 50, 60)
	s.Now = second(100)
	d := s.Schedules["s"]
	d.ID, d.Schedule, d.Info.CreateTime = "s", everyTen(0), began
	s.Schedules["s"] = d
	f := check(&s.evidence)
	require.Equal(t, 1, f.Missed)
	require.Equal(t, 1, f.Unexplained, "%v", f.Problems)
	require.Empty(t, auditAll(&s.evidence, map[dueTime]bool{{"s", second(30).Unix()}: true}))
}
