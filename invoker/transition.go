package invoker

import (
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// The limits of docs/semantics.md §6.
const (
	// BufferLimit is how many starts may wait. Further automated starts are dropped.
	BufferLimit = 1000
	// RecentLimit is how many ended runs are kept.
	RecentLimit = 10
	// MaxAttempts is how often a start is attempted.
	MaxAttempts = 10
	// minDeadline is the minimum deadline of an automated start, whatever the catch-up window.
	minDeadline = 5 * time.Second
	// firstBackoff and lastBackoff are the waits between attempts, doubling.
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// Input is what has come in for one schedule.
type Input struct {
	// Report is the result of earlier work of the state, if it has not been recorded yet.
	Report      Report
	Enqueues    []Traced[wire.Enqueue]
	Completions []schedule.Completion
	// Ends are the runs that somebody asked to end.
	Ends []wire.EndRun
	// Withdrawn are the sources whose trigger or backfill has been canceled. Their waiting starts are dropped, and so are those that still
	// come. A source that the state does not know, and that nothing came from, is ignored.
	Withdrawn []string
	// Finished are the sources whose backfill is over; the state forgets them.
	Finished []string
	// Bounds are what the namespace allows.
	Bounds Bounds
	// Spec is the compiled spec of the definition. It is needed if a hand-off gives up actions and an earlier hand-off may have reported
	// some of them; without Spec those count twice.
	Spec *specproc.Spec
}

// Traced is a message with its traceparent.
type Traced[T any] struct {
	Body  T
	Trace string
}

// Decision is the result of a transition, except for the work that WorkOf finds in the new state.
type Decision struct {
	// State is the new record; it must be written only if Changed.
	State   wire.InvokerState
	Changed bool
	// Asks is how many starts ask for room and could otherwise begin: see [Room]. Delayed counts the starts that are newly delayed, by
	// reason.
	Asks    int
	Delayed map[schedule.DelayReason]int
	// Ended are the completions that counted, in order; they form the last result.
	Ended []schedule.Completion
	// Pause, if set, is the event of a failure that pauses the schedule; it has the reason. The transition already assumes the pause.
	Pause *schedule.Event
	// Ignored counts the ignored messages by reason. The reasons are few and fixed.
	Ignored map[string]int
}

// Transition applies the input, then decides which starts are ready. It is a pure function.
func Transition(d *wire.Definition, state wire.InvokerState, in Input, now time.Time) Decision {
	m := newMachine(d, state, now, incoming(in.Enqueues))
	m.spec, m.bounds = in.Spec, in.Bounds
	m.report(in.Report)
	for _, c := range in.Completions {
		m.complete(c)
	}
	for _, e := range in.Enqueues {
		m.enqueue(&e.Body, e.Trace)
	}
	for i := range in.Ends {
		m.endRun(&in.Ends[i])
	}
	// After the hand-offs, because the first hand-off of a source makes it known.
	for _, source := range in.Withdrawn {
		m.withdraw(source)
	}
	for _, source := range in.Finished {
		m.finish(source)
	}
	m.settle()
	return m.decision()
}

// Apply records the result of a state's work, then decides which starts are ready now. It is a pure function.
func Apply(d *wire.Definition, state wire.InvokerState, report Report, bounds Bounds, now time.Time) Decision {
	m := newMachine(d, state, now, 0)
	m.bounds = bounds
	m.report(report)
	m.settle()
	return m.decision()
}

// incoming returns how many starts the hand-offs bring.
func incoming(handOffs []Traced[wire.Enqueue]) int {
	n := 0
	for i := range handOffs {
		n += len(handOffs[i].Body.Starts)
	}
	return n
}

// report records the result of work.
func (m *machine) report(report Report) {
	for _, r := range report.Starts {
		m.executed(r)
	}
	for _, c := range report.Delivered {
		m.delivered(c)
	}
}

// machine works on a copy of the record.
type machine struct {
	definition *wire.Definition
	now        time.Time
	state      wire.InvokerState
	paused     bool
	spec       *specproc.Spec // nil if it is not needed
	bounds     Bounds
	slots      []time.Time // slots of bounds that are not assigned yet
	placeless  int         // delayed starts without a time
	out        Decision
	// index maps request IDs to positions of starts. It is built at the first use.
	index map[string]int
}

// newMachine copies what a transition changes. It makes room for room more starts, because starts are large.
func newMachine(d *wire.Definition, state wire.InvokerState, now time.Time, room int) *machine {
	m := &machine{definition: d, now: now, state: state, paused: d.Schedule.State.Paused}
	if state.Incarnation != d.Incarnation {
		m.state = wire.InvokerState{Incarnation: d.Incarnation, LimitVersion: d.LimitVersion}
		m.out.Changed = true
	}
	m.state.Starts = append(slices.Grow(m.state.Starts[:0:0], len(m.state.Starts)+room), m.state.Starts...)
	m.state.Controls = slices.Clone(m.state.Controls)
	m.state.Sources = maps.Clone(m.state.Sources)
	m.state.Outbox = slices.Clone(m.state.Outbox)
	if m.state.LimitVersion != d.LimitVersion {
		m.state.LimitVersion, m.state.LimitUsed = d.LimitVersion, 0
	}
	return m
}

func (m *machine) decision() Decision {
	m.retain()
	m.compact()
	m.out.State = m.state
	return m.out
}

// retain moves completed starts from the buffer to the ended runs. It keeps RecentLimit of those.
func (m *machine) retain() {
	var completed []*wire.BufferedStart
	for i := range m.state.Starts {
		if s := &m.state.Starts[i]; s.Phase == schedule.PhaseCompleted {
			completed = append(completed, s)
		}
	}
	if len(completed) == 0 {
		return
	}
	m.state.LastDue = m.state.LastEnded() // before the runs that determine it are dropped
	for _, s := range completed {
		m.state.LastDue = later(m.state.LastDue, s.Actual)
	}
	slices.SortStableFunc(completed, func(a, b *wire.BufferedStart) int { return a.CloseTime.Compare(b.CloseTime) })
	for _, s := range completed[max(len(completed)-RecentLimit, 0):] {
		run := wire.NewRun(s)
		m.state.Ended = m.state.Ended.With(&run, RecentLimit)
	}
	for _, s := range completed {
		remove(s)
	}
}

// fewStarts is the number of starts up to which a search is cheaper than an index.
const fewStarts = 32

// find returns the start of a request; nil if there is none. The pointer is valid until compact.
func (m *machine) find(requestID string) *wire.BufferedStart {
	if m.index == nil && len(m.state.Starts) <= fewStarts {
		for i := range m.state.Starts {
			if s := &m.state.Starts[i]; s.RequestID == requestID && s.Phase != removed {
				return s
			}
		}
		return nil
	}
	if m.index == nil {
		m.index = make(map[string]int, len(m.state.Starts))
		for i := range m.state.Starts {
			m.index[m.state.Starts[i].RequestID] = i
		}
	}
	if i, known := m.index[requestID]; known && m.state.Starts[i].Phase != removed {
		return &m.state.Starts[i]
	}
	return nil
}

// knows reports whether the buffer has the start of a request, or the recent runs have its run.
func (m *machine) knows(requestID string) bool {
	return m.find(requestID) != nil || m.state.Ended.Has(requestID)
}

// add appends a start to the buffer.
func (m *machine) add(s wire.BufferedStart) {
	if m.index != nil {
		m.index[s.RequestID] = len(m.state.Starts)
	}
	m.state.Starts = append(m.state.Starts, s)
}

// removed is the phase of a start that compact will remove from the buffer. Until then, positions do not change.
const removed schedule.Phase = ""

func remove(s *wire.BufferedStart) { s.Phase = removed }

func (m *machine) compact() {
	m.state.Starts = slices.DeleteFunc(m.state.Starts, func(s wire.BufferedStart) bool { return s.Phase == removed })
}

func (m *machine) ignore(reason string) {
	if m.out.Ignored == nil {
		m.out.Ignored = map[string]int{}
	}
	m.out.Ignored[reason]++
}

// event adds an event to the outbox. The state must then be written.
func (m *machine) event(e schedule.Event) {
	m.state.EventSequence++
	e.ID = eventID(m.definition.Incarnation, m.state.EventSequence)
	e.Time = m.now.UTC()
	e.Namespace, e.ScheduleID = m.definition.Namespace, m.definition.ID
	m.state.Outbox = append(m.state.Outbox, e)
	m.out.Changed = true
}

// eventOf adds an event about a start.
func (m *machine) eventOf(kind schedule.EventKind, s *wire.BufferedStart, reason string) {
	m.event(startEvent(kind, s, reason))
}

func startEvent(kind schedule.EventKind, s *wire.BufferedStart, reason string) schedule.Event {
	return schedule.Event{
		Kind: kind, RequestID: s.RequestID, WorkflowID: s.WorkflowID, RunID: s.RunID, Nominal: s.Nominal, Actual: s.Actual,
		Manual: s.Manual, Source: s.Source, TaskQueue: s.TaskQueue, ActionKind: s.ActionKind, Identity: s.Identity, Reason: reason,
		Trace: s.Trace,
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
