package invoker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// model drives one schedule through whatever may happen to it, and keeps the books beside it.
type model struct {
	*harness
	t *rapid.T
	// mails are the hand-offs made so far. Any of them may come, in any order, any number of times.
	mails []wire.Enqueue
	made  int
	// brought are the requests of the hand-offs that came; coverage may say of a repeat under a new version that its time is
	// taken. taken are the due times of those that were buffered or given up at once.
	brought map[string]bool
	taken   map[string]time.Time
	// fate has the terminal events of each request.
	fate  map[string][]schedule.EventKind
	ready map[string]int
	// withdrawn are the sources whose backfill has been canceled.
	withdrawn map[string]bool
	// counters is the sum of all events.
	counters wire.Counters
}

func TestAnySequenceKeepsTheBooks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(append(schedule.OverlapPolicies(), "")).Draw(t, "policy")
		m := &model{
			t: t, taken: map[string]time.Time{}, brought: map[string]bool{}, fate: map[string][]schedule.EventKind{},
			ready: map[string]int{}, withdrawn: map[string]bool{},
		}
		m.harness = newHarness(t, policy(p), limit(rapid.IntRange(0, 3).Draw(t, "limit")),
			catchup(rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "window")))
		m.d.Schedule.Policies.PauseOnFailure = rapid.Bool().Draw(t, "pause on failure")
		if rapid.Bool().Draw(t, "limited") {
			actions(rapid.IntRange(0, 6).Draw(t, "actions"))(&m.d)
		}
		t.Repeat(map[string]func(*rapid.T){
			"hand over": m.handOver,
			"trigger":   m.triggerNow,
			"cancel":    m.cancel,
			"finish":    m.finish,
			"deliver":   m.deliver,
			"complete":  m.completeSome,
			"execute":   m.execute,
			"by hand":   m.endByHand,
			"pause":     func(t *rapid.T) { m.d.Schedule.State.Paused = rapid.Bool().Draw(t, "paused") },
			"time passes": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second)
			},
			"limit":   func(t *rapid.T) { limit(rapid.IntRange(0, 3).Draw(t, "limit"))(&m.d) },
			"update":  m.update,
			"nothing": func(*rapid.T) { m.step(invoker.Input{}) },
			"":        func(*rapid.T) { m.audit() },
		})
	})
}

// handOver makes the next link of a source's chain, or one that repeats the last with a later end.
func (m *model) handOver(t *rapid.T) {
	source := rapid.SampledFrom([]string{schedule.SourceAuto, schedule.SourceAuto, "b1", "b2"}).Draw(t, "source")
	count := rapid.IntRange(1, 4).Draw(t, "count")
	overlap := rapid.SampledFrom(append(schedule.OverlapPolicies(), "")).Draw(t, "overlap")
	end := int(m.now.Sub(origin)/time.Second) + m.made*5
	seconds := make([]int, count)
	for i := range seconds {
		seconds[i] = end + i - count + 1
	}
	m.made++
	m.mails = append(m.mails, m.handOff(source, overlap, seconds...))
	if e := &m.mails[len(m.mails)-1]; source == schedule.SourceAuto {
		for i := range e.Starts {
			e.Starts[i].Skip = rapid.IntRange(0, 5).Draw(t, "skip") == 0
		}
		counts := rapid.SliceOfN(rapid.IntRange(0, 2), 3, 3).Draw(t, "given up")
		e.Missed, e.Superseded, e.Dropped = counts[0], counts[1], counts[2]
	}
	if last := len(m.mails) - 2; last >= 0 && m.mails[last].Source == source && rapid.Bool().Draw(t, "crashed between") {
		e := &m.mails[last+1]
		e.From = m.mails[last].From
		e.Starts = append(slices.Clone(m.mails[last].Starts), e.Starts...)
	}
}

// triggerNow makes the one hand-off of a trigger.
func (m *model) triggerNow(t *rapid.T) {
	m.made++
	at := int(m.now.Sub(origin)/time.Second) + m.made*5
	overlap := rapid.SampledFrom(append(schedule.OverlapPolicies(), "")).Draw(t, "overlap")
	e := m.handOff(fmt.Sprint("t", m.made), overlap, at)
	e.Complete = true
	m.mails = append(m.mails, e)
}

// cancel withdraws a source, also one of which nothing has come yet.
func (m *model) cancel(t *rapid.T) {
	source := rapid.SampledFrom([]string{"b1", "b2", "t1", "t2", "t3", schedule.SourceAuto}).Draw(t, "source")
	if _, known := m.state.Sources[source]; known && source != schedule.SourceAuto {
		m.withdrawn[source] = true
	}
	m.step(invoker.Input{Withdrawn: []string{source}})
	for _, s := range m.state.Starts {
		require.False(t, s.Source == source && s.Phase == schedule.PhaseDeferred && s.Manual, "withdrawn and waits")
	}
}

// finish ends the sources that are to be woken because none of their starts waits. What still comes of them is a late
// repeat, which the pool keeps away.
func (m *model) finish(t *rapid.T) {
	for _, source := range invoker.SourcesToWake(&m.state) {
		progress := m.state.Sources[source]
		for _, s := range m.state.Starts {
			require.False(t, (progress.Complete || progress.Withdrawn) && s.Source == source && s.Waiting(), "%s waits", s.RequestID)
		}
		if progress.Complete && rapid.Bool().Draw(t, "finishes") {
			m.step(invoker.Input{Finished: []string{source}})
			m.mails = slices.DeleteFunc(m.mails, func(e wire.Enqueue) bool { return e.Source == source })
		}
	}
}

// deliver brings some of the hand-offs, old and new.
func (m *model) deliver(t *rapid.T) {
	if len(m.mails) == 0 {
		return
	}
	var in invoker.Input
	for range rapid.IntRange(1, 3).Draw(t, "messages") {
		e := m.mails[rapid.IntRange(max(len(m.mails)-4, 0), len(m.mails)-1).Draw(t, "which")]
		in.Enqueues = append(in.Enqueues, traced(e).Enqueues...)
	}
	m.step(in)
}

func (m *model) completeSome(t *rapid.T) {
	var in invoker.Input
	for _, s := range known(&m.state) {
		if !rapid.Bool().Draw(t, "completes") {
			continue
		}
		c := schedule.Completion{
			RequestID: s.RequestID, CloseTime: m.now,
			Status: rapid.SampledFrom([]schedule.Status{
				schedule.StatusCompleted, schedule.StatusFailed, schedule.StatusCanceled, schedule.StatusTimedOut,
			}).Draw(t, "status"),
		}
		in.Completions = append(in.Completions, c)
		if rapid.Bool().Draw(t, "twice") {
			in.Completions = append(in.Completions, c)
		}
	}
	m.step(in)
}

// execute does some of the work, with any result.
func (m *model) execute(t *rapid.T) {
	work := invoker.WorkOf(&m.state, m.now)
	var report invoker.Report
	ended := map[string]bool{}
	for _, c := range work.Controls {
		if rapid.Bool().Draw(t, "delivered") {
			report.Delivered = append(report.Delivered, c)
			ended[c.RequestID] = c.Kind == schedule.ControlTerminate
		}
	}
	results := []invoker.Result{
		invoker.Accepted, invoker.Accepted, invoker.Accepted, invoker.Refused, invoker.TooLate, invoker.Failed, invoker.Over,
		invoker.Unreachable,
	}
	for _, s := range work.Starts {
		if !ended[s.RequestID] && rapid.IntRange(0, 9).Draw(t, "done") > 0 {
			report.Starts = append(report.Starts, invoker.StartReport{
				RequestID: s.RequestID, Result: rapid.SampledFrom(results).Draw(t, "result"), At: m.now,
			})
		}
	}
	before := m.state
	m.apply(report)
	m.check(before)
}

// update replaces the definition: times that come again have other request IDs, the limit begins anew.
func (m *model) update(t *rapid.T) {
	m.d.Version++
	m.d.LimitVersion = m.d.Version
	m.d.Schedule.Policies.Overlap = rapid.SampledFrom(schedule.OverlapPolicies()).Draw(t, "policy")
	m.d.Schedule.Action.Kind = rapid.SampledFrom(append(schedule.ActionKinds(), "")).Draw(t, "kind")
}

func (m *model) step(in invoker.Input) {
	for _, e := range in.Enqueues {
		for _, s := range e.Body.Starts {
			m.brought[s.RequestID] = true
		}
	}
	before := m.state
	m.transition(in)
	if m.last.Pause != nil {
		m.d.Version++
		m.d.Schedule.State.Paused, m.d.Schedule.State.Notes = true, m.last.Pause.Reason
	}
	m.check(before)
}

// check books what a step has done.
func (m *model) check(before wire.InvokerState) {
	for _, e := range m.news {
		m.counters.Add(e)
		switch e.Kind {
		case schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped, schedule.EventCompleted:
			if e.RequestID != "" { // the others stand for actions that were never handed over
				m.taken[e.RequestID] = e.Actual
				m.fate[e.RequestID] = append(m.fate[e.RequestID], e.Kind)
			}
		}
	}
	m.news = nil
	m.checkTaken(before)
	m.checkChoice(before)
}

// checkTaken checks what has come into the buffer, and is there still.
func (m *model) checkTaken(before wire.InvokerState) {
	was := known(&before)
	for _, s := range known(&m.state) {
		if slices.ContainsFunc(was, func(b wire.BufferedStart) bool { return b.RequestID == s.RequestID }) {
			continue
		}
		_, twice := m.taken[s.RequestID]
		require.False(m.t, twice, "%s taken over twice", s.RequestID)
		m.taken[s.RequestID] = s.Actual
	}
}

// checkChoice checks what has become ready.
func (m *model) checkChoice(before wire.InvokerState) {
	was := map[string]schedule.Phase{}
	for _, s := range before.Starts {
		was[s.RequestID] = s.Phase
	}
	busy, chosen := 0, 0
	for _, s := range m.state.Starts {
		if s.Phase != schedule.PhaseReady && s.Phase != schedule.PhaseStarted {
			continue
		}
		if s.Phase == schedule.PhaseStarted || was[s.RequestID] == schedule.PhaseReady || was[s.RequestID] == schedule.PhaseStarted {
			busy++
			continue
		}
		m.ready[s.RequestID]++
		require.Equal(m.t, 1, m.ready[s.RequestID], "%s ready twice", s.RequestID)
		require.False(m.t, m.d.Schedule.State.Paused && !s.Manual, "an automated start of a paused schedule")
		if s.Overlap.Or(m.d.Schedule.Policies.Overlap).Or(schedule.OverlapSkip) != schedule.OverlapAllowAll {
			chosen++
		}
	}
	if chosen > 0 {
		require.LessOrEqual(m.t, busy+chosen, max(m.d.Schedule.Policies.ConcurrencyLimit, 1))
	}
}

// audit compares the books with the record.
func (m *model) audit() {
	require.Equal(m.t, m.counters, m.state.Counters, "counters and events")
	open := map[string]bool{}
	for _, s := range m.state.Starts {
		if s.Phase != schedule.PhaseCompleted {
			open[s.RequestID] = true
		}
	}
	for id := range m.brought {
		fates := m.fate[id]
		switch _, taken := m.taken[id]; {
		case !taken:
			require.True(m.t, m.covered(id), "%s was brought and is nowhere", id)
		case open[id]:
			require.Empty(m.t, fates, "%s is open and has ended", id)
		default:
			require.Len(m.t, fates, 1, "%s is gone", id)
		}
	}
	for id := range m.taken {
		require.True(m.t, m.brought[id], "%s came from nowhere", id)
	}
	for source := range m.withdrawn {
		progress, known := m.state.Sources[source]
		require.True(m.t, !known || progress.Withdrawn)
	}
	if m.d.Schedule.State.LimitedActions {
		require.LessOrEqual(m.t, m.state.LimitUsed, m.d.Schedule.State.RemainingActions)
	}
}

// covered reports whether the time of a request was taken by another request of its source.
func (m *model) covered(id string) bool {
	for _, e := range m.mails {
		for _, s := range e.Starts {
			if s.RequestID != id {
				continue
			}
			for other, at := range m.taken {
				if at.Equal(s.Actual) && strings.HasPrefix(other, "sched-"+e.Source+"-") {
					return true
				}
			}
			return covers(m.state.Sources[e.Source].Covered, s.Actual)
		}
	}
	return true // its source has finished
}

func covers(spans []wire.Span, at time.Time) bool {
	return slices.ContainsFunc(spans, func(s wire.Span) bool { return at.After(s.From) && !at.After(s.To) })
}

// TestEveryOrderOfHandOffsGivesTheSame: whatever is repeated or overtaken, each start is taken once.
func TestEveryOrderOfHandOffsGivesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newHarness(t, policy(schedule.OverlapAllowAll))
		var mails []wire.Enqueue
		total := rapid.IntRange(1, 6).Draw(t, "hand-offs")
		for i := range total {
			mails = append(mails, k.handOff(schedule.SourceAuto, "", 10*i+1, 10*i+2))
		}
		order := rapid.Permutation(append(slices.Clone(mails), mails...)).Draw(t, "order")
		for _, e := range order {
			k.transition(traced(e))
		}
		require.Len(t, k.state.Starts, 2*total)
		require.Len(t, k.state.Sources[schedule.SourceAuto].Covered, 1)
	})
}
