package audit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/audit"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
)

var created = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// minute returns minute n of the schedule, which is due every minute.
func minute(n int) time.Time { return created.Add(time.Duration(n) * time.Minute) }

// history is a schedule with its events while a test builds them.
type history struct {
	description schedule.Description
	events      []schedule.Event
}

func newHistory() *history {
	h := &history{description: schedule.Description{
		Namespace: "default", ID: "s",
		Schedule: schedule.Schedule{Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Minute)}}}},
		Info:     schedule.Info{CreateTime: created},
	}}
	h.add(schedule.Event{ID: "i-created-1", Kind: schedule.EventCreated, Time: created})
	return h
}

func (h *history) add(events ...schedule.Event) {
	for _, e := range events {
		if e.ID == "" {
			e.ID = fmt.Sprintf("i-%d", len(h.events))
		}
		if e.Time.IsZero() {
			e.Time = e.Nominal
		}
		e.Actual = e.Nominal
		h.events = append(h.events, e)
	}
}

// of makes an event about an automated action.
func of(kind schedule.EventKind, n int) schedule.Event {
	return schedule.Event{Kind: kind, Nominal: minute(n), Source: schedule.SourceAuto, RequestID: fmt.Sprintf("r%d", n)}
}

// ran returns the events of an action that ran.
func ran(n int) []schedule.Event {
	return []schedule.Event{of(schedule.EventStarted, n), of(schedule.EventCompleted, n)}
}

// audit audits the first ten minutes.
func (h *history) audit(t require.TestingT) audit.Report {
	report, err := audit.Run(context.Background(), audit.Input{
		Description: &h.description, Events: h.events, To: minute(10), Now: minute(20), Slack: time.Second,
	})
	require.NoError(t, err)
	return report
}

func kinds(r audit.Report) []audit.Kind {
	found := []audit.Kind{}
	for _, f := range r.Findings {
		found = append(found, f.Kind)
	}
	return found
}

func TestEverythingExplained(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.add(ran(1)...)
	skipped := of(schedule.EventSkipped, 2)
	skipped.Overlap = schedule.OverlapSkip
	h.add(skipped, of(schedule.EventSkipped, 3), of(schedule.EventDropped, 4))
	h.add(schedule.Event{
		Kind: schedule.EventMissed, Count: 2, First: minute(5), Last: minute(6), Source: schedule.SourceAuto, Time: minute(7),
	})
	h.add(schedule.Event{Kind: schedule.EventPaused, Time: minute(6).Add(30 * time.Second)},
		schedule.Event{Kind: schedule.EventUnpaused, Time: minute(8).Add(30 * time.Second)})
	h.add(of(schedule.EventDeferred, 9), of(schedule.EventStarted, 10))
	h.description.Info.BufferSize = 1
	h.description.Info.RunningWorkflows = []schedule.Run{{RequestID: "r10"}}
	got := h.audit(t)
	require.Empty(t, got.Findings)
	require.Equal(t, map[audit.Fate]int{
		audit.Started: 2, audit.Skipped: 1, audit.OnRequest: 1, audit.Dropped: 1, audit.Missed: 2, audit.Paused: 2, audit.Waiting: 1,
	}, got.Fates)
}

func TestCalendarsOfTheSpec(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.description.Spec.ExcludeCalendarsNamed = []string{"freeze"}
	h.add(ran(1)...)
	h.add(schedule.Event{Kind: schedule.EventReplanned, Time: minute(3).Add(30 * time.Second), Reason: "calendar freeze"})
	h.description.Info.ReplanTime = minute(3).Add(30 * time.Second)
	for n := 8; n <= 10; n++ {
		h.add(ran(n)...)
	}
	report, err := audit.Run(t.Context(), audit.Input{
		Description: &h.description, Events: h.events, To: minute(10), Now: minute(20), Slack: time.Second,
		Calendars: map[string]schedule.NamedCalendar{
			"freeze": {Name: "freeze", Windows: []schedule.Blackout{{From: minute(4), To: minute(8)}}},
		},
	})
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Equal(t, map[audit.Fate]int{audit.Started: 3}, report.Fates, "what was before the calendar changed is not known")
}

func TestFindings(t *testing.T) {
	t.Parallel()
	all := func(h *history, but ...int) {
		for n := range 10 {
			if !slices.Contains(but, n+1) {
				h.add(ran(n + 1)...)
			}
		}
	}
	for name, test := range map[string]struct {
		make func(*history)
		want []audit.Kind
	}{
		"nothing":        {func(h *history) { all(h) }, []audit.Kind{}},
		"one is missing": {func(h *history) { all(h, 4) }, []audit.Kind{audit.KindMissed}},
		"started twice":  {func(h *history) { all(h); h.add(of(schedule.EventStarted, 4)) }, []audit.Kind{audit.KindDoubled}},
		"two fates":      {func(h *history) { all(h); h.add(of(schedule.EventDropped, 4)) }, []audit.Kind{audit.KindDoubled}},
		"a run without an end": {func(h *history) {
			all(h, 4)
			h.add(of(schedule.EventStarted, 4))
		}, []audit.Kind{audit.KindLost}},
		"left the buffer without a trace": {func(h *history) {
			all(h, 4)
			h.add(of(schedule.EventDeferred, 4))
		}, []audit.Kind{audit.KindLost}},
		"no time of the spec": {func(h *history) {
			all(h)
			odd := of(schedule.EventStarted, 4)
			odd.Nominal, odd.RequestID = odd.Nominal.Add(time.Second), "r4"
			h.add(odd)
		}, []audit.Kind{audit.KindUnexpected}},
		"a span of too many": {func(h *history) {
			all(h, 4, 5)
			h.add(schedule.Event{
				Kind: schedule.EventMissed, Count: 3, First: minute(4), Last: minute(5), Source: schedule.SourceAuto, Time: minute(6),
			})
		}, []audit.Kind{audit.KindCount}},
		"an earlier schedule of this ID": {func(h *history) {
			h.events = append([]schedule.Event{
				{ID: "j-created-1", Kind: schedule.EventCreated, Time: created.Add(-time.Hour)},
				{ID: "j-7", Kind: schedule.EventStarted, Nominal: minute(-3), Time: minute(-3), Source: schedule.SourceAuto},
			}, h.events...)
			all(h)
		}, []audit.Kind{}},
		"no action left": {func(h *history) {
			all(h, 9, 10)
			h.description.State.LimitedActions = true
		}, []audit.Kind{}},
		"a trigger nobody answered": {func(h *history) {
			all(h)
			h.add(schedule.Event{Kind: schedule.EventTriggered, Source: "t", Time: minute(3)})
		}, []audit.Kind{audit.KindLost}},
		"a backfill that lost one": {func(h *history) {
			all(h)
			start := of(schedule.EventStarted, -5)
			start.Source, start.RequestID = "b", "b1"
			done := start
			done.Kind = schedule.EventCompleted
			h.add(schedule.Event{Kind: schedule.EventBackfillRequested, Source: "b", Time: minute(3), First: minute(-5), Last: minute(-4)},
				start, done, schedule.Event{Kind: schedule.EventBackfillCompleted, Source: "b", Time: minute(4), Count: 2})
		}, []audit.Kind{audit.KindCount}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			test.make(h)
			got := h.audit(t)
			assert.Equal(t, test.want, kinds(got), "%+v", got.Findings)
		})
	}
}

// TestAnyHistory draws a history in which everything has a fate, and removes or repeats one of its events.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		for n := range 10 {
			switch rapid.IntRange(0, 4).Draw(t, "fate") {
			case 0:
				skipped := of(schedule.EventSkipped, n+1)
				skipped.Overlap = schedule.OverlapBufferOne
				h.add(skipped)
			case 1:
				h.add(of(schedule.EventDropped, n+1))
			case 2:
				h.add(of(schedule.EventMissed, n+1))
			default:
				h.add(ran(n + 1)...)
			}
		}
		require.Empty(t, h.audit(t).Findings)

		fate := slices.Collect(func(yield func(int) bool) {
			for i, e := range h.events {
				if e.Kind != schedule.EventCreated && e.Kind != schedule.EventCompleted && !yield(i) {
					return
				}
			}
		})
		at := rapid.SampledFrom(fate).Draw(t, "event")
		broken, want := *h, audit.KindDoubled
		if rapid.Bool().Draw(t, "remove") {
			want = audit.KindMissed
			if h.events[at].Kind == schedule.EventStarted {
				want = audit.KindLost // its end is known
			}
			broken.events = slices.Delete(slices.Clone(h.events), at, at+1)
		} else {
			again := h.events[at]
			again.ID = "i-again"
			broken.events = append(slices.Clone(h.events), again)
		}
		require.Equal(t, []audit.Kind{want}, kinds(broken.audit(t)))
	})
}

// eachSecond is a schedule that is due each second and was paused right after its creation.
func eachSecond() *history {
	h := newHistory()
	h.description.Spec = schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}}
	h.description.State.Paused = true
	h.add(schedule.Event{Kind: schedule.EventPaused, Time: minute(1)})
	return h
}

// TestAuditInParts: each part says where the next begins, and together they say what one audit of all says.
func TestAuditInParts(t *testing.T) {
	t.Parallel()
	h := eachSecond()
	for _, at := range []int{20, 40, 70} {
		source := fmt.Sprint("trigger-", at)
		h.add(schedule.Event{Kind: schedule.EventTriggered, Source: source, Time: minute(at)}) // nothing says what became of it
		h.add(schedule.Event{Kind: schedule.EventTriggered, Source: "other-" + source, Time: minute(at)})
		h.add(schedule.Event{ // it has not ended, and the schedule does not know it
			Kind: schedule.EventStarted, Source: "other-" + source, RequestID: source, Nominal: minute(at), Time: minute(at),
		})
	}
	in := audit.Input{Description: &h.description, Events: h.events, To: minute(100), Now: minute(200), Slack: time.Second}
	whole, err := audit.Run(t.Context(), in)
	require.NoError(t, err)
	require.Zero(t, whole.Next)
	require.Greater(t, whole.Fates[audit.Paused], 99*60-10)

	require.Len(t, whole.Findings, 6)
	require.Equal(t, map[audit.Fate]int{audit.Started: 3}, whole.Manual)

	fates, manual, parts, findings := map[audit.Fate]int{}, map[audit.Fate]int{}, 0, []audit.Finding(nil)
	for in.MaxTimes = 1000; ; parts++ {
		part, err := audit.Run(t.Context(), in)
		require.NoError(t, err)
		times := 0
		for fate, count := range part.Fates {
			fates[fate], times = fates[fate]+count, times+count
		}
		require.LessOrEqual(t, times, 1000)
		for fate, count := range part.Manual {
			manual[fate] += count
		}
		findings = append(findings, part.Findings...)
		if part.Next.IsZero() {
			require.Equal(t, whole.To, part.To)
			break
		}
		require.Equal(t, 1000, times)
		require.True(t, part.Next.After(in.From))
		in.From = part.Next
	}
	require.Equal(t, whole.Fates, fates)
	require.Equal(t, whole.Manual, manual)
	require.Equal(t, whole.Findings, findings)
	require.Equal(t, 5, parts)
}

// TestLostWithoutAnEnd: an audit without an end goes through no times, and still says which runs are lost, and which triggers.
func TestLostWithoutAnEnd(t *testing.T) {
	t.Parallel()
	h := eachSecond()
	h.add(schedule.Event{Kind: schedule.EventTriggered, Source: "lost", Time: minute(20)})
	h.add(schedule.Event{Kind: schedule.EventTriggered, Source: "known", Time: minute(30)})
	h.add(schedule.Event{Kind: schedule.EventStarted, Source: "known", RequestID: "r", Nominal: minute(30), Time: minute(30)})
	report, err := audit.Run(t.Context(), audit.Input{Description: &h.description, Events: h.events, Now: minute(200), Slack: time.Second})
	require.NoError(t, err)
	require.Empty(t, report.Fates)
	require.Equal(t, []audit.Kind{audit.KindLost, audit.KindLost}, kinds(report))
	require.Equal(t, map[audit.Fate]int{audit.Started: 1}, report.Manual)
}

// TestAuditEndsWithItsContext: a year of seconds, of which nobody wants to know any more.
func TestAuditEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := eachSecond()
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, err := audit.Run(ctx, audit.Input{
		Description: &h.description, Events: h.events, To: minute(365 * 24 * 60), Now: minute(400 * 24 * 60), Slack: time.Second,
		Each: func(time.Time, audit.Fate) {
			if seen++; seen == 1000 {
				cancel()
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1000, seen)
}

// TestFindingsAreBounded: nothing explains any of 20 hours of seconds.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	h := eachSecond()
	h.events, h.description.State.Paused = h.events[:len(h.events)-1], false
	report, err := audit.Run(t.Context(), audit.Input{
		Description: &h.description, Events: h.events, To: minute(20 * 60), Now: minute(21 * 60), Slack: time.Second,
	})
	require.NoError(t, err)
	require.Len(t, report.Findings, 10_000)
	require.Equal(t, report.Fates[audit.Unexplained], report.Found())
	require.Greater(t, report.MoreFindings, 60_000)
}
