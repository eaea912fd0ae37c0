package execution

import (
	"fmt"
	"math"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

// A run that a reset begins has the first events of another run. They are not copied: a long history would not fit into one entry. The entry
// names the run that wrote them, and where in the journal it begins. So a reset of any history is one small entry, and entries never change. Whoever
// replays such a run reads those events first: see [Entry.ReadBase].

// Stretch are events of a run that another run wrote, up to Through. They begin after the stretch before.
type Stretch struct {
	// RunID is the run whose entries have the events, and First the stream sequence of the entry with which that run begins.
	RunID string `json:"runId"`
	First uint64 `json:"first"`
	// Through is the ID of the last event.
	Through int64 `json:"through"`
}

// Base is what a run has from other runs, in its first entry.
type Base struct {
	// Stretches are in the order of the events, from the first event on: one at least.
	Stretches []Stretch `json:"stretches"`
	// Bytes is the size of the events.
	Bytes int64 `json:"bytes"`
	// Start is for readers that do not replay: the first event, with the time of the reset, the memo and the search attributes of that moment, and
	// without what is only for the code of the workflow. EncodedStart is the same, as Temporal's HistoryEvent.
	Start        *historypb.HistoryEvent `json:"-"`
	EncodedStart []byte                  `json:"start"`
	// Events are the events. They are not stored: see [Entry.ReadBase].
	Events []*historypb.HistoryEvent `json:"-"`
}

// through is the ID of the last event.
func (b *Base) through() int64 { return b.Stretches[len(b.Stretches)-1].Through }

func (b *Base) decode() error {
	if len(b.Stretches) == 0 {
		return fmt.Errorf("execution: a base without events: %w", codec.ErrFormat)
	}
	encoded := b.EncodedStart
	b.Start, b.EncodedStart = &historypb.HistoryEvent{}, nil
	return unmarshal(encoded, b.Start)
}

// Reader reads a journal: it calls each for its encoded entries, in their order, from the one with a stream sequence on, until each returns false or an
// error, or until the journal ends. It returns the error of each, or its own.
type Reader func(from uint64, each func(data []byte) (more bool, err error)) error

// ReadBase completes an entry that begins a run by a reset: it reads the events that the run has from others. Without it, [State.Apply] does not take
// such an entry. It does nothing for other entries. Errors of the reader are returned as they are; others wrap codec.ErrFormat.
func (e *Entry) ReadBase(read Reader) (err error) {
	if base := e.Parts[len(e.Parts)-1].Base; base != nil && base.Events == nil {
		base.Events, err = readEvents(base.Stretches, read)
	}
	return err
}

// ReadEvents reads all events of a run that are in its journal, those of other runs too. The run must be stored. The errors are those of
// [Entry.ReadBase].
func (r *Run) ReadEvents(read Reader) ([]*historypb.HistoryEvent, error) {
	return readEvents(r.stretches(r.NextEvent-1), read)
}

func readEvents(stretches []Stretch, read Reader) (events []*historypb.HistoryEvent, err error) {
	for _, stretch := range stretches {
		err := read(stretch.First, func(data []byte) (bool, error) {
			entry, err := ParseEntry(data)
			if err != nil {
				return false, err
			}
			events = stretch.collect(events, entry)
			return int64(len(events)) < stretch.Through, nil
		})
		if err != nil {
			return nil, err
		}
		if int64(len(events)) != stretch.Through {
			return nil, fmt.Errorf("execution: the journal lacks events of run %s up to %d: %w", stretch.RunID, stretch.Through, codec.ErrFormat)
		}
	}
	return events, nil
}

// collect adds the next events of the stretch that an entry has.
func (s Stretch) collect(events []*historypb.HistoryEvent, entry *Entry) []*historypb.HistoryEvent {
	for i := range entry.Parts {
		if entry.Parts[i].RunID != s.RunID {
			continue
		}
		for _, event := range entry.Parts[i].Events {
			if event.GetEventId() == int64(len(events))+1 && event.GetEventId() <= s.Through {
				events = append(events, event)
			}
		}
	}
	return events
}

// Begins returns the first event of the run that begins with a part; nil if none does. Of a run that a reset has begun, it is [Base.Start].
func (p *Part) Begins() *historypb.HistoryEvent {
	switch {
	case p.First != 0:
		return nil
	case p.Base != nil:
		return p.Base.Start
	case len(p.Events) == 0:
		return nil
	}
	return p.Events[0]
}

// Author returns the run that wrote an event of this run, as a stretch with all events from that one on that it wrote. First is zero if the entry with
// which this run begins is not stored yet.
func (r *Run) Author(event int64) Stretch {
	for _, stretch := range r.Stretches {
		if event <= stretch.Through {
			return stretch
		}
	}
	return Stretch{r.ID, r.First, math.MaxInt64}
}

// wrote reports whether an event of this run is that of another one, so that what it led to belongs to this run, too.
func (r *Run) wrote(runID string, event int64) bool { return r.Author(event).RunID == runID }

// stretches returns what a run begins with that has the first events of this one.
func (r *Run) stretches(through int64) (all []Stretch) {
	for next := int64(1); next <= through; {
		stretch := r.Author(next)
		stretch.Through = min(stretch.Through, through)
		all, next = append(all, stretch), stretch.Through+1
	}
	return all
}

// takeOver begins a run with events of others, at the time of the reset.
func (r *Run) takeOver(base *Base, now time.Time) error {
	if int64(len(base.Events)) != base.through() {
		return fmt.Errorf("the run begins with %d events of others, and there are %d", base.through(), len(base.Events))
	}
	for _, event := range base.Events {
		r.retrace(event)
		r.effect(event)
		r.number(event)
	}
	r.Stretches = base.Stretches
	r.restart(now)
	return nil
}

// retrace does what an event tells of which the entries of a run have a record of its own.
func (r *Run) retrace(event *historypb.HistoryEvent) {
	r.retraceTask(event)
	switch a := event.Attributes.(type) {
	case *historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
		if id := a.WorkflowExecutionSignaledEventAttributes.GetRequestId(); id != "" {
			r.Requests = r.Requests.with(id)
		}
	case *historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes:
		id := a.WorkflowExecutionUpdateAcceptedEventAttributes.GetProtocolInstanceId()
		if _, known := r.Updates[id]; !known {
			r.Admitted++
			r.Updates[id] = Update{Number: r.Admitted}
		}
	case *historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes:
		of := a.ActivityTaskCancelRequestedEventAttributes.GetScheduledEventId()
		if activity, ok := r.Activities[of]; ok {
			activity.CancelEvent = event.GetEventId()
			r.Activities[of] = activity
		}
	}
}

// retraceTask is retrace for the events of workflow tasks.
func (r *Run) retraceTask(event *historypb.HistoryEvent) {
	switch a := event.Attributes.(type) {
	case *historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes:
		at := event.GetEventTime().AsTime()
		r.Task = WorkflowTask{
			Scheduled: event.GetEventId(), Attempt: 1, ScheduledTime: at, OriginalTime: at,
			Timeout: a.WorkflowTaskScheduledEventAttributes.GetStartToCloseTimeout().AsDuration(),
		}
	case *historypb.HistoryEvent_WorkflowTaskStartedEventAttributes:
		r.Task.Started, r.Task.StartedTime = event.GetEventId(), event.GetEventTime().AsTime()
		r.Task.RequestID = a.WorkflowTaskStartedEventAttributes.GetRequestId()
		r.Task.Identity = a.WorkflowTaskStartedEventAttributes.GetIdentity()
	case *historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes:
		r.LastStarted, r.Task = a.WorkflowTaskCompletedEventAttributes.GetStartedEventId(), WorkflowTask{Attempt: 1}
	case *historypb.HistoryEvent_WorkflowTaskFailedEventAttributes, *historypb.HistoryEvent_WorkflowTaskTimedOutEventAttributes:
		r.Task = WorkflowTask{Attempt: 1}
	}
}

// restart lets the timeouts of a run begin at the time of the reset. Its activities begin again with their first attempt. Its timers fire as they were
// to.
func (r *Run) restart(now time.Time) {
	r.OriginalStart, r.Start = r.Start, now
	r.Attributes = proto.CloneOf(r.Attributes)
	r.Attributes.FirstWorkflowTaskBackoff, r.Attributes.WorkflowExecutionExpirationTime = nil, nil
	if whole := r.Attributes.GetWorkflowExecutionTimeout().AsDuration(); whole > 0 {
		r.Attributes.WorkflowExecutionExpirationTime = timestamppb.New(now.Add(whole))
	}
	for event, activity := range r.Activities {
		activity.Scheduled, activity.Due = now, now
		r.Activities[event] = activity
	}
}

// startOfReset is [Base.Start] for a run that has just taken over its events.
func (r *Run) startOfReset(first *historypb.HistoryEvent, now time.Time) *historypb.HistoryEvent {
	attributes := proto.CloneOf(r.Attributes)
	attributes.Input, attributes.Header, attributes.LastCompletionResult, attributes.ContinuedFailure = nil, nil, nil, nil
	attributes.Memo, attributes.SearchAttributes = &commonpb.Memo{Fields: r.Memo}, &commonpb.SearchAttributes{IndexedFields: r.SearchAttributes}
	event := newEvent(attributes, now)
	event.EventId, event.UserMetadata = first.GetEventId(), first.GetUserMetadata()
	return event
}
