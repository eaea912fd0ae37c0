package backup

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// known is what a backup has of one schedule. Its records are from one moment. The other streams are from later moments, the
// events from the last.
type known struct {
	Definition wire.Definition
	// Generator and Invoker are zero if there is no record.
	Generator wire.GeneratorState
	Invoker   wire.InvokerState
	Backfills map[string]wire.BackfillState
	// Events are the events that were stored after the moment of the records, or shortly before.
	Events []schedule.Event
	// Queued are the start requests in the action stream, by request ID.
	Queued map[string]queued
	// Reported has the request IDs whose completion waits in the task stream, Dead those that a dead letter is about.
	Reported, Dead map[string]bool
	// Arriving are the hand-offs that wait in the task stream, in order.
	Arriving []wire.Enqueue
	// HandedOver reports whether the hand-off of a source and span waits in the task stream.
	HandedOver func(source string, span wire.Span) bool
	// Spec is the compiled spec of the definition.
	Spec *specproc.Spec
}

// queued is a start request in the action stream.
type queued struct {
	Sequence  uint64
	TaskQueue string
}

// Counts are what was done to the records to make them consistent again.
type Counts struct {
	// Deferred, Started, Completed and GivenUp are what only the events knew: starts that had begun to wait, runs that had begun,
	// runs that had ended, and actions that were skipped, missed or dropped.
	Deferred  int `json:"deferred"`
	Started   int `json:"started"`
	Completed int `json:"completed"`
	GivenUp   int `json:"givenUp"`
	// Requeued counts runs that had begun after the start requests were copied: they are started again.
	Requeued int `json:"requeued"`
	// Withdrawn counts start requests whose runs had ended.
	Withdrawn int `json:"withdrawn"`
	// HandOffs counts hand-offs to the invoker, of due actions or of a backfill, that are made again.
	HandOffs int `json:"handOffs"`
	// Forgotten counts triggers, and starts of backfills, that were requested after the records had been copied.
	Forgotten int `json:"forgotten"`
	// Paused and Deleted count schedules that were paused on failure, or deleted, after their records were copied.
	Paused  int `json:"paused"`
	Deleted int `json:"deleted"`
	// Assumed counts actions that count as done because the restore was given a time to resume from.
	Assumed int `json:"assumed"`
}

func (c *Counts) add(o Counts) {
	c.Deferred += o.Deferred
	c.Started += o.Started
	c.Completed += o.Completed
	c.GivenUp += o.GivenUp
	c.Requeued += o.Requeued
	c.Withdrawn += o.Withdrawn
	c.HandOffs += o.HandOffs
	c.Forgotten += o.Forgotten
	c.Paused += o.Paused
	c.Deleted += o.Deleted
	c.Assumed += o.Assumed
}

// plan is what to change because of what is known.
type plan struct {
	Invoker          wire.InvokerState
	InvokerChanged   bool
	Generator        wire.GeneratorState
	GeneratorChanged bool
	// Paused is the definition, paused on failure; nil if it stays as it is. Deleted is set if the definition must go, and Gone
	// is the event of that.
	Paused  *wire.Definition
	Deleted bool
	Gone    *schedule.Event
	// HandOff is a hand-off that the generator would have made; nil if the generator makes its own.
	HandOff *wire.Enqueue
	// Backfills are the records that change.
	Backfills []wire.BackfillState
	// Ended are the completions that the events report, in order, for the last result.
	Ended []schedule.Completion
	// Withdraw are the sequences of start requests to remove.
	Withdraw []uint64
	// Forget are the IDs of events that are not true any more.
	Forget []string
	Counts Counts
}

// reconcile changes the records of a schedule to agree with what the other streams know. It is a pure function.
//
// The high water mark of the invoker's record is its EventSequence. Each transition numbers its events and publishes them after
// the record. So the events with higher numbers are exactly what has happened since. reconcile applies them in order. Then it
// looks for each run, in the order in which a run leaves traces: its request, its completion, its event.
func reconcile(k *known) plan {
	r := &reconciliation{known: k}
	r.plan.Invoker, r.plan.Generator = k.Invoker, k.Generator
	r.state = &r.plan.Invoker
	r.begin()
	if gone := r.gone(); gone != nil {
		r.plan.Deleted, r.plan.Gone = true, gone
		r.plan.Counts.Deleted = 1
		return r.plan
	}
	for _, e := range r.news() {
		r.apply(e)
	}
	r.arrivals()
	r.locate()
	r.handOffs()
	r.withdraw()
	r.plan.Invoker.Starts = slices.DeleteFunc(r.state.Starts, func(s wire.BufferedStart) bool { return s.Phase == removed })
	return r.plan
}

// removed is the phase of a start that must leave the buffer in the end.
const removed schedule.Phase = ""

type reconciliation struct {
	*known
	plan  plan
	state *wire.InvokerState
}

// begin copies what is changed in place, and makes an empty record if there is none of this incarnation.
func (r *reconciliation) begin() {
	if r.state.Incarnation != r.Definition.Incarnation {
		*r.state = wire.InvokerState{Incarnation: r.Definition.Incarnation, LimitVersion: r.Definition.LimitVersion}
	}
	if r.Generator.Incarnation != r.Definition.Incarnation {
		r.plan.Generator = wire.GeneratorState{}
	}
	r.state.Starts = slices.Clone(r.state.Starts)
	r.state.Controls = slices.Clone(r.state.Controls)
	sources := map[string]wire.SourceProgress{}
	for name, progress := range r.state.Sources {
		progress.Covered = slices.Clone(progress.Covered)
		sources[name] = progress
	}
	r.state.Sources = sources
}

// gone returns the event that deleted or closed the schedule after its records were copied; nil if the schedule still exists.
func (r *reconciliation) gone() *schedule.Event {
	for i := range r.Events {
		if schedule.IsGone(r.Definition.Incarnation, r.Events[i:i+1]) {
			return &r.Events[i]
		}
	}
	return nil
}

// news returns the events that the invoker's record does not know, each once, in the order of their numbers.
func (r *reconciliation) news() []*schedule.Event {
	numbers := map[uint64]*schedule.Event{}
	for i := range r.Events {
		if n, ok := r.number(r.Events[i].ID); ok && n > r.state.EventSequence {
			numbers[n] = &r.Events[i]
		}
	}
	var events []*schedule.Event
	for n, e := range numbers {
		events = append(events, e)
		r.state.EventSequence = max(r.state.EventSequence, n)
	}
	slices.SortFunc(events, func(a, b *schedule.Event) int {
		x, _ := r.number(a.ID)
		y, _ := r.number(b.ID)
		return cmp.Compare(x, y)
	})
	return events
}

// number returns the number that the invoker gave an event. It returns false for events from others, and of other incarnations.
func (r *reconciliation) number(id string) (uint64, bool) {
	text, own := strings.CutPrefix(id, r.Definition.Incarnation+"-")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, own && err == nil
}

func (r *reconciliation) find(requestID string) *wire.BufferedStart {
	for i := range r.state.Starts {
		if s := &r.state.Starts[i]; s.RequestID == requestID && s.Phase != removed {
			return s
		}
	}
	return nil
}

// apply does to the record what the transition did that published the event.
func (r *reconciliation) apply(e *schedule.Event) {
	r.plan.InvokerChanged = true
	r.state.Counters.Add(*e)
	if e.RequestID == "" {
		r.applySpan(e)
		return
	}
	if !e.Actual.IsZero() {
		r.cover(e.Source, wire.Span{From: e.Actual.Add(-1), To: e.Actual})
	}
	switch e.Kind {
	case schedule.EventDeferred:
		r.plan.Counts.Deferred++
		r.startOf(e).Phase = schedule.PhaseDeferred
	case schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped:
		r.plan.Counts.GivenUp++
		if s := r.find(e.RequestID); s != nil {
			s.Phase = removed
		}
	case schedule.EventRetried:
		s := r.startOf(e)
		r.ready(s, e.TaskQueue, e.ActionKind)
		s.Attempt++
	case schedule.EventStarted:
		r.plan.Counts.Started++
		s := r.startOf(e)
		r.ready(s, e.TaskQueue, e.ActionKind)
		s.Phase, s.RunID, s.StartTime = schedule.PhaseStarted, e.RunID, e.Time
	case schedule.EventCancelRequested:
		r.end(e, schedule.ControlCancel)
	case schedule.EventTerminated:
		r.end(e, schedule.ControlTerminate)
	case schedule.EventCompleted:
		r.plan.Counts.Completed++
		r.complete(e)
	case schedule.EventPaused:
		r.pause(e)
	}
}

// applySpan applies an event about actions that never became starts. It adds their number to the counts of the newest hand-off.
// The hand-off is repeated, and the repeat counts only what is new.
func (r *reconciliation) applySpan(e *schedule.Event) {
	if e.Count == 0 {
		return
	}
	r.plan.Counts.GivenUp += e.Count
	from := r.arrived(e.Source)
	r.cover(e.Source, wire.Span{From: e.First.Add(-1), To: e.Last})
	progress, known := r.state.Sources[e.Source]
	if !known {
		return
	}
	if !progress.LastFrom.Equal(from) {
		progress.LastFrom, progress.LastMissed, progress.LastDropped, progress.LastSuperseded = from, 0, 0, 0
	}
	switch {
	case e.Kind == schedule.EventDropped:
		progress.LastDropped += e.Count
	case strings.HasPrefix(e.Reason, "superseded"):
		progress.LastSuperseded += e.Count
	default:
		progress.LastMissed += e.Count
	}
	r.state.Sources[e.Source] = progress
}

// startOf returns the start that an event is about. It adds the start to the buffer if it is new.
func (r *reconciliation) startOf(e *schedule.Event) *wire.BufferedStart {
	if s := r.find(e.RequestID); s != nil {
		return s
	}
	s := wire.BufferedStart{
		RequestID: e.RequestID, WorkflowID: e.WorkflowID, Nominal: e.Nominal, Actual: e.Actual, Manual: e.Manual,
		Source: e.Source, Identity: e.Identity, Trace: e.Trace, Phase: schedule.PhasePending,
	}
	switch b := r.Backfills[e.Source]; {
	case b.Trigger != nil:
		s.Overlap, s.Overridden = b.Trigger.Overlap, b.Trigger.Overrides()
	case b.Range != nil:
		s.Overlap = b.Range.Overlap
	}
	r.state.Starts = append(r.state.Starts, s)
	return &r.state.Starts[len(r.state.Starts)-1]
}

// ready marks a start as one that has been chosen.
func (r *reconciliation) ready(s *wire.BufferedStart, taskQueue string, kind schedule.ActionKind) {
	if s.Phase == schedule.PhasePending || s.Phase == schedule.PhaseDeferred {
		if r.Definition.Schedule.State.LimitedActions && !s.Manual {
			r.state.LimitUsed++
		}
		s.Phase = schedule.PhaseReady
	}
	s.Attempt, s.BackoffUntil = max(s.Attempt, 1), time.Time{}
	s.RunID, s.TaskQueue, s.ActionKind = wire.RunID(s.RequestID), taskQueue, kind
}

// end records that a run has been asked to end, and asks again: nobody knows whether the run has received the first request.
func (r *reconciliation) end(e *schedule.Event, kind schedule.ControlKind) {
	s := r.startOf(e)
	r.ready(s, e.TaskQueue, e.ActionKind) // it may have been about to be started
	s.Ending = kind
	control := wire.PendingControl{
		Kind: kind, RequestID: s.RequestID, WorkflowID: s.WorkflowID, RunID: s.RunID, TaskQueue: s.TaskQueue,
		ActionKind: s.ActionKind,
	}
	if e.Overlap == "" {
		byHand := wire.EndRun{Kind: kind, Reason: e.Reason, Identity: e.Identity}
		control.Reason = byHand.Text()
	}
	r.state.Controls = append(r.state.Controls, control)
}

func (r *reconciliation) complete(e *schedule.Event) {
	s := r.startOf(e)
	s.Phase, s.Status, s.CodeTime, s.CloseTime = schedule.PhaseCompleted, e.Status, e.CodeTime, e.CloseTime
	s.RunAttempt, s.Worker, s.Outcome = e.Attempt, e.Worker, e.Outcome
	s.BackoffUntil = time.Time{}
	r.state.Controls = slices.DeleteFunc(r.state.Controls, func(c wire.PendingControl) bool { return c.RequestID == e.RequestID })
	if e.ResultBytes > len(e.Outcome.Result) {
		return // the event does not have all of the result
	}
	r.plan.Ended = append(r.plan.Ended, schedule.Completion{
		RequestID: e.RequestID, Status: e.Status, Result: e.Outcome.Result, Failure: e.Outcome.Failure, CloseTime: e.CloseTime,
	})
}

// pause applies pause on failure. The invoker writes that into the definition before it publishes the event.
func (r *reconciliation) pause(e *schedule.Event) {
	if r.Definition.Schedule.State.Paused || r.plan.Paused != nil {
		return
	}
	d := r.Definition
	d.Version++
	d.Schedule.State.Paused, d.Schedule.State.Notes = true, e.Reason
	d.PausedBy, d.PauseTime = "pause on failure", e.Time
	r.plan.Paused = &d
	r.plan.Counts.Paused = 1
}

// cover records that a source's times in a span have been taken over. It ignores a source that neither the record nor a backfill
// knows, because such a source is over.
func (r *reconciliation) cover(source string, span wire.Span) {
	if source == "" {
		return
	}
	progress, known := r.state.Sources[source]
	if _, pending := r.Backfills[source]; !known && !pending && source != schedule.SourceAuto {
		return
	}
	if len(progress.Covered) == 0 {
		// The beginning of the chain of hand-offs comes first, even as an empty span.
		progress.Covered = []wire.Span{{From: r.origin(source), To: r.origin(source)}}
	}
	progress.Covered = join(append(progress.Covered, span))
	r.state.Sources[source] = progress
}

// join sorts spans, and joins those that touch.
func join(spans []wire.Span) []wire.Span {
	slices.SortFunc(spans, func(a, b wire.Span) int { return a.From.Compare(b.From) })
	joined := spans[:1]
	for _, s := range spans[1:] {
		last := &joined[len(joined)-1]
		switch {
		case s.From.After(last.To):
			joined = append(joined, s)
		case s.To.After(last.To):
			last.To = s.To
		}
	}
	return joined
}

// origin returns where the chain of hand-offs of a source begins.
func (r *reconciliation) origin(source string) time.Time {
	b, manual := r.Backfills[source]
	switch {
	case !manual:
		return r.Definition.CreateTime
	case b.Trigger != nil:
		return b.RequestTime.Add(-1)
	}
	return b.Range.Start.Add(-1)
}

// arrived returns the time up to which all hand-offs of a source have arrived.
func (r *reconciliation) arrived(source string) time.Time {
	covered := r.state.Sources[source].Covered
	if len(covered) == 0 {
		return r.origin(source)
	}
	return covered[0].To
}
