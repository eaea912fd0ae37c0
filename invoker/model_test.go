package invoker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// model drives one schedule through whatever may happen to it, and keeps the books beside it.
type model struct {
	*desk
	t *rapid.T
	// mails are the hand-offs made so far. Any of them may come, in any order, any number of times.
	mails []schedule.Enqueue
	made  int
	// enqueued are the requests that some hand-off brought; coverage may say of a repeat under a new version that its time
	// is taken.
	enqueued map[string]time.Time
	brought  map[string]bool
	// fate counts the terminal events of each request.
	fate    map[string][]schedule.EventKind
	ready   map[string]int
	manual  map[string]bool
	missed  int64
	dropped int64
	skipped int64
	started int64
}

func TestAnySequenceKeepsTheBooks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(append(schedule.OverlapPolicies(), "")).Draw(t, "policy")
		m := &model{
			t: t, enqueued: map[string]time.Time{}, brought: map[string]bool{}, fate: map[string][]schedule.EventKind{},
			ready: map[string]int{}, manual: map[string]bool{},
		}
		m.desk = newDesk(t, policy(p), limit(rapid.IntRange(0, 3).Draw(t, "limit")),
			catchup(rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "window")))
		m.d.Schedule.Policies.PauseOnFailure = rapid.Bool().Draw(t, "pause on failure")
		if rapid.Bool().Draw(t, "limited") {
			actions(rapid.IntRange(0, 6).Draw(t, "actions"))(&m.d)
		}
		t.Repeat(map[string]func(*rapid.T){
			"hand over": m.handOver,
			"deliver":   m.deliver,
			"complete":  m.completeSome,
			"execute":   m.execute,
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
	if last := len(m.mails) - 2; last >= 0 && m.mails[last].Source == source && rapid.Bool().Draw(t, "crashed between") {
		e := &m.mails[last+1]
		e.From = m.mails[last].From
		e.Starts = append(slices.Clone(m.mails[last].Starts), e.Starts...)
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
	for _, s := range m.state.Starts {
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
		invoker.Accepted, invoker.Accepted, invoker.Accepted, invoker.Refused, invoker.Failed, invoker.Over,
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
}

func (m *model) step(in invoker.Input) {
	for _, e := range in.Enqueues {
		for _, s := range e.Body.Starts {
			m.brought[s.RequestID], m.manual[s.RequestID] = true, s.Manual
		}
	}
	before := m.state
	m.transition(in)
	if m.last.PauseNote != "" {
		m.d.Version++
		m.d.Schedule.State.Paused, m.d.Schedule.State.Notes = true, m.last.PauseNote
	}
	m.check(before)
}

// check books what a step has done.
func (m *model) check(before schedule.InvokerState) {
	for _, e := range m.news {
		count := max(int64(e.Count), 1)
		switch e.Kind {
		case schedule.EventBuffered:
			_, twice := m.enqueued[e.RequestID]
			require.False(m.t, twice, "%s buffered twice", e.RequestID)
			m.enqueued[e.RequestID] = e.Actual
		case schedule.EventSkipped:
			m.skipped++
			m.end(e)
		case schedule.EventMissed:
			m.missed += count
			m.end(e)
		case schedule.EventDropped:
			m.dropped += count
			m.end(e)
		case schedule.EventCompleted:
			m.end(e)
		case schedule.EventStarted:
			m.started++
		}
	}
	m.news = nil
	m.checkChoice(before)
}

func (m *model) end(e schedule.Event) {
	m.fate[e.RequestID] = append(m.fate[e.RequestID], e.Kind)
}

// checkChoice checks what has become ready.
func (m *model) checkChoice(before schedule.InvokerState) {
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
	c := m.state.Counters
	require.Equal(m.t, schedule.Counters{
		Actions: m.started, MissedCatchup: m.missed, OverlapSkipped: m.skipped, BufferDropped: m.dropped,
	}, c, "counters and events")
	open := map[string]bool{}
	for _, s := range m.state.Starts {
		if s.Phase != schedule.PhaseCompleted {
			open[s.RequestID] = true
		}
	}
	for id := range m.enqueued {
		fates := m.fate[id]
		if open[id] {
			require.Empty(m.t, fates, "%s is open and has ended", id)
		} else {
			require.Len(m.t, fates, 1, "%s is gone", id)
		}
	}
	for id := range m.brought {
		if _, ok := m.enqueued[id]; !ok {
			require.True(m.t, m.covered(id), "%s was brought and is nowhere", id)
		}
	}
	for id := range m.fate {
		require.Contains(m.t, m.enqueued, id)
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
			for other, at := range m.enqueued {
				if at.Equal(s.Actual) && strings.HasPrefix(other, "sched-"+e.Source+"-") {
					return true
				}
			}
			return covers(m.state.Sources[e.Source].Covered, s.Actual)
		}
	}
	panic(fmt.Sprintf("%s was never handed over", id))
}

func covers(spans []schedule.Span, at time.Time) bool {
	return slices.ContainsFunc(spans, func(s schedule.Span) bool { return at.After(s.From) && !at.After(s.To) })
}

// TestEveryOrderOfHandOffsGivesTheSame: whatever is repeated or overtaken, each start is taken once.
func TestEveryOrderOfHandOffsGivesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newDesk(t, policy(schedule.OverlapAllowAll))
		var mails []schedule.Enqueue
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
