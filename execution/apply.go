package execution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

// Apply adds the next entry of the journal, which has a sequence of its stream. It follows no rule: it takes what the entry says. The error
// wraps codec.ErrFormat: the entry does not follow on the state, which must not be used after it.
func (s *State) Apply(entry *Entry, sequence uint64) error {
	for i := range entry.Parts {
		part := &entry.Parts[i]
		var err error
		switch {
		case part.gone():
			s.Run = goneRun(part)
			continue
		case part.First == 0:
			err = s.begin(part, sequence, entry.Time)
		case s.Run == nil || s.Run.ID != part.RunID:
			return fmt.Errorf("execution: entry %d of %s/%s is about run %s, which is not the newest: %w",
				sequence, s.Key.Namespace, s.Key.WorkflowID, part.RunID, codec.ErrFormat)
		}
		if err == nil {
			err = s.Run.apply(part)
		}
		if err != nil {
			return fmt.Errorf("execution: entry %d of %s/%s: %w: %w", sequence, s.Key.Namespace, s.Key.WorkflowID, err, codec.ErrFormat)
		}
	}
	s.Sequence = sequence
	return nil
}

// begin begins the run of a part.
func (s *State) begin(part *Part, sequence uint64, at time.Time) error {
	s.Run = newRun(part.RunID)
	s.Run.First, s.Run.StartRequest, s.Run.Callback, s.Run.Earlier = sequence, part.StartRequest, part.Callback, part.Earlier
	s.Run.Resets, s.Run.Needs = part.Resets, part.Needs
	if part.Base == nil {
		return nil
	}
	return s.Run.takeOver(part.Base, at)
}

// Stored completes the state after a decision, once its entry is stored and has its sequence.
func (s *State) Stored(sequence uint64) {
	s.Sequence = sequence
	if s.Run != nil && s.Run.First == 0 {
		s.Run.First = sequence
	}
}

func newRun(id string) *Run {
	return &Run{
		ID: id, NextEvent: 1, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, Task: WorkflowTask{Attempt: 1},
		Activities: map[int64]Activity{}, Timers: map[string]Timer{}, Heartbeats: map[int64]Heartbeat{},
		Updates: map[string]Update{}, Children: map[int64]Child{}, Outgoing: map[int64]*historypb.HistoryEvent{},
	}
}

func (r *Run) apply(part *Part) error {
	r.Entries++
	for _, event := range part.Events {
		if event.GetEventId() != r.NextEvent {
			return fmt.Errorf("event %d follows on %d", event.GetEventId(), r.NextEvent-1)
		}
		if !slices.Contains(part.Arrived, event.GetEventId()) {
			r.effect(event)
		}
		r.number(event)
	}
	for _, at := range part.TakenBack {
		if int(at) >= len(r.Buffered) || at < 0 {
			return fmt.Errorf("buffered event %d is to be taken back, of %d", at, len(r.Buffered))
		}
		r.Buffered = slices.Delete(slices.Clone(r.Buffered), int(at), int(at)+1)
	}
	if part.Flushed {
		r.Buffered = nil
	}
	for _, event := range part.Buffer {
		r.effect(event)
	}
	r.Buffered = append(r.Buffered, part.Buffer...)
	if part.Task != nil {
		r.Task = *part.Task
	}
	if part.Sticky != nil {
		r.Sticky = *part.Sticky
	}
	if part.LastStarted != nil {
		r.LastStarted = *part.LastStarted
	}
	if part.FirstTask != nil {
		r.FirstTask = *part.FirstTask
	}
	if part.Armed != nil {
		r.Armed = *part.Armed
	}
	if part.ResetRun != "" {
		r.ResetRun = part.ResetRun
	}
	r.add(part)
	r.SearchAttributes = WithPauseInfo(r.SearchAttributes, part.Paused)
	return r.applyActivities(part.Activities)
}

// add adds to what the run has of many things.
func (r *Run) add(part *Part) {
	for _, request := range part.Admitted {
		r.admit(request)
	}
	for _, rejected := range part.Rejected {
		r.reject(rejected)
	}
	for _, request := range part.Requests {
		r.Requests = r.Requests.with(request)
	}
	for _, runID := range part.Removed {
		r.remove(runID)
	}
}

func (r *Run) applyActivities(records []ActivityRecord) error {
	for _, record := range records {
		if activity, ok := r.Activities[record.Event]; ok {
			if err := activity.set(record); err != nil {
				return err
			}
			r.Activities[record.Event] = activity
		}
	}
	r.dropCanceled()
	return nil
}

// dropCanceled forgets the activities of an ended run that were canceled with its end. The events that say so were dropped with all others that
// were held back.
func (r *Run) dropCanceled() {
	if r.Open() {
		return
	}
	maps.DeleteFunc(r.Activities, func(_ int64, a Activity) bool { return a.CancelEvent != 0 && a.Started.IsZero() })
}

// number counts an event that has got its ID.
func (r *Run) number(event *historypb.HistoryEvent) {
	r.NextEvent = event.GetEventId() + 1
	r.Bytes += int64(proto.Size(event))
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		r.Activities[event.GetEventId()] = Activity{
			Scheduled:      event.GetEventTime().AsTime(),
			Original:       event.GetActivityTaskScheduledEventAttributes(),
			Attributes:     event.GetActivityTaskScheduledEventAttributes(),
			ActivityRecord: ActivityRecord{Event: event.GetEventId(), Attempt: 1},
		}
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		r.Children[event.GetEventId()] = Child{Initiated: event}
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		initiated := event.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId()
		if child, ok := r.Children[initiated]; ok {
			child.Started = event.GetEventId()
			r.Children[initiated] = child
		}
	case enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
		r.Outgoing[event.GetEventId()] = event
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		r.addResetPoint(event)
		r.SearchAttributes, _ = WithBuildID(r.SearchAttributes, event.GetWorkflowTaskCompletedEventAttributes())
		r.noteWorker(event)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED:
		id := event.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest().GetMeta().GetUpdateId()
		r.setUpdate(id, func(u *Update) { u.Recorded = true })
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		id := event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetProtocolInstanceId()
		r.setUpdate(id, func(u *Update) { u.Request, u.Accepted = nil, event.GetEventId() })
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		id := event.GetWorkflowExecutionUpdateCompletedEventAttributes().GetMeta().GetUpdateId()
		r.setUpdate(id, func(u *Update) { u.Completed = event.GetEventId() })
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		attributes := event.GetTimerStartedEventAttributes()
		r.Timers[attributes.GetTimerId()] = Timer{
			Event: event.GetEventId(), Fires: event.GetEventTime().AsTime().Add(attributes.GetStartToFireTimeout().AsDuration()),
		}
	}
}

// effect changes what an event changes as soon as it happens, even if it has no ID yet.
func (r *Run) effect(event *historypb.HistoryEvent) {
	switch a := event.Attributes.(type) {
	case *historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes:
		r.Start, r.Attributes = event.GetEventTime().AsTime(), a.WorkflowExecutionStartedEventAttributes
		r.Memo = maps.Clone(r.Attributes.GetMemo().GetFields())
		r.SearchAttributes = maps.Clone(r.Attributes.GetSearchAttributes().GetIndexedFields())
		r.UserMetadata = event.GetUserMetadata()
		r.ResetPoints = r.Attributes.GetPrevAutoResetPoints().GetPoints()
	case *historypb.HistoryEvent_WorkflowExecutionUpdateAdmittedEventAttributes:
		r.admit(a.WorkflowExecutionUpdateAdmittedEventAttributes.GetRequest())
	case *historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
		r.Signals++
	case *historypb.HistoryEvent_TimerFiredEventAttributes:
		delete(r.Timers, a.TimerFiredEventAttributes.GetTimerId())
	case *historypb.HistoryEvent_TimerCanceledEventAttributes:
		delete(r.Timers, a.TimerCanceledEventAttributes.GetTimerId())
	case *historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes:
		r.CancelRequested = true
	case *historypb.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes:
		r.SearchAttributes = merged(r.SearchAttributes, a.UpsertWorkflowSearchAttributesEventAttributes.GetSearchAttributes().GetIndexedFields())
	case *historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes:
		r.Memo = merged(r.Memo, a.WorkflowPropertiesModifiedEventAttributes.GetUpsertedMemo().GetFields())
	case *historypb.HistoryEvent_ChildWorkflowExecutionStartedEventAttributes:
		initiated := a.ChildWorkflowExecutionStartedEventAttributes.GetInitiatedEventId()
		if child, ok := r.Children[initiated]; ok {
			child.Begun = true
			r.Children[initiated] = child
		}
	default:
		if of := resultOf(event); of != 0 {
			delete(r.Activities, of)
			delete(r.Heartbeats, of)
			delete(r.Children, of)
			delete(r.Outgoing, of)
		}
		if status, ok := ends[event.GetEventType()]; ok {
			r.Status, r.Close, r.Continues = status, event.GetEventTime().AsTime(), NextRun(event) != ""
			clear(r.Timers)
			clear(r.Heartbeats)
			r.dropCanceled()
		}
	}
}

// ends are the events that end a run.
var ends = map[enumspb.EventType]enumspb.WorkflowExecutionStatus{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:  enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:     enumspb.WORKFLOW_EXECUTION_STATUS_FAILED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:   enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:  enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,

	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
}

// NextRun returns the ID of the run in which a workflow goes on after the last event of a run; empty if it does not.
func NextRun(last *historypb.HistoryEvent) string {
	return cmp.Or(last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(),
		last.GetWorkflowExecutionCompletedEventAttributes().GetNewExecutionRunId(),
		last.GetWorkflowExecutionFailedEventAttributes().GetNewExecutionRunId(),
		last.GetWorkflowExecutionTimedOutEventAttributes().GetNewExecutionRunId())
}

// merged returns fields with changes. A change to nothing removes a field.
func merged(fields, changes map[string]*commonpb.Payload) map[string]*commonpb.Payload {
	all := maps.Clone(fields)
	if all == nil {
		all = map[string]*commonpb.Payload{}
	}
	for name, value := range changes {
		if isNull(value) {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return all
}

// isNull reports whether a payload is nothing: it has no data, or JSON's null or an empty list.
func isNull(value *commonpb.Payload) bool {
	text := string(value.GetData())
	return text == "" || text == "null" || text == "[]"
}

// someMemo returns a memo without the fields that are nothing; nil if none is left. A run that begins has nothing that they could remove.
func someMemo(memo *commonpb.Memo) *commonpb.Memo {
	if fields := merged(nil, memo.GetFields()); len(fields) > 0 {
		return &commonpb.Memo{Fields: fields}
	}
	return nil
}

// someAttributes is someMemo for search attributes.
func someAttributes(all *commonpb.SearchAttributes) *commonpb.SearchAttributes {
	if fields := merged(nil, all.GetIndexedFields()); len(fields) > 0 {
		return &commonpb.SearchAttributes{IndexedFields: fields}
	}
	return nil
}
