package cli

import (
	"maps"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

// traceOf returns what a description says of a run.
func traceOf(info *workflow.WorkflowExecutionInfo, pending []*workflow.PendingActivityInfo) *render.Trace {
	tree := &render.Trace{
		WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId(), Type: info.GetType().GetName(),
		Status: render.WorkflowStatus(info.GetStatus()), Started: info.GetStartTime().AsTime(),
	}
	if info.CloseTime != nil {
		tree.Ended = info.CloseTime.AsTime()
		return tree // nobody works on what was pending
	}
	for _, p := range pending {
		tree.Activities = append(tree.Activities, render.TraceActivity{
			ID: p.GetActivityId(), Type: p.GetActivityType().GetName(), State: strings.ToLower(p.GetState().String()), Attempt: int(p.GetAttempt()),
			Failure: failureMessages(p.GetLastFailure()),
		})
	}
	return tree
}

// traceStory is what the history of a run says of it.
type traceStory struct {
	tree *render.Trace
	// What the workflow has asked for, by the ID of the event: activities and timers that have not ended, and all children.
	activities map[int64]render.TraceActivity
	timers     map[int64]render.TraceTimer
	children   map[int64]*render.Trace
}

// storyOf adds to a tree what a history says, without the children.
func storyOf(tree *render.Trace, events []*history.HistoryEvent) *traceStory {
	s := &traceStory{tree, map[int64]render.TraceActivity{}, map[int64]render.TraceTimer{}, map[int64]*render.Trace{}}
	for _, event := range events {
		s.addActivity(event)
		s.addTimer(event)
		s.addChild(event)
	}
	if tree.Ended.IsZero() {
		tree.Timers = inOrder(s.timers)
	} else if len(events) > 0 {
		last := events[len(events)-1]
		tree.Next = execution.NextRun(last)
		if tree.Status != render.WorkflowStatus(enums.WORKFLOW_EXECUTION_STATUS_COMPLETED) {
			tree.Ending = endingText(last)
		}
	}
	return s
}

// over reports whether nothing of the run or below it will change.
func (s *traceStory) over() bool {
	return !s.tree.Ended.IsZero() && !slices.ContainsFunc(s.tree.Children, func(child *render.Trace) bool { return child.Ended.IsZero() })
}

// inOrder returns the values of a map in the order of the events.
func inOrder[V any](all map[int64]V) (ordered []V) {
	for _, event := range slices.Sorted(maps.Keys(all)) {
		ordered = append(ordered, all[event])
	}
	return ordered
}

func (s *traceStory) addActivity(event *history.HistoryEvent) {
	switch {
	case event.GetActivityTaskScheduledEventAttributes() != nil:
		a := event.GetActivityTaskScheduledEventAttributes()
		s.activities[event.EventId] = render.TraceActivity{ID: a.ActivityId, Type: a.GetActivityType().GetName()}
	case event.GetActivityTaskCompletedEventAttributes() != nil:
		s.tree.CompletedActivities++
	case event.GetActivityTaskFailedEventAttributes() != nil:
		a := event.GetActivityTaskFailedEventAttributes()
		s.failed(a.ScheduledEventId, "failed", failureMessages(a.Failure))
	case event.GetActivityTaskTimedOutEventAttributes() != nil:
		a := event.GetActivityTaskTimedOutEventAttributes()
		s.failed(a.ScheduledEventId, "timed out", failureMessages(a.Failure))
	case event.GetActivityTaskCanceledEventAttributes() != nil:
		s.failed(event.GetActivityTaskCanceledEventAttributes().ScheduledEventId, "canceled", "")
	}
}

// failed notes how an activity has ended that has no result.
func (s *traceStory) failed(scheduled int64, state, failure string) {
	activity := s.activities[scheduled]
	activity.State, activity.Failure = state, failure
	s.tree.Activities = append(s.tree.Activities, activity)
}

func (s *traceStory) addTimer(event *history.HistoryEvent) {
	switch {
	case event.GetTimerStartedEventAttributes() != nil:
		a := event.GetTimerStartedEventAttributes()
		s.timers[event.EventId] = render.TraceTimer{ID: a.TimerId, Due: event.GetEventTime().AsTime().Add(a.GetStartToFireTimeout().AsDuration())}
	case event.GetTimerFiredEventAttributes() != nil:
		delete(s.timers, event.GetTimerFiredEventAttributes().StartedEventId)
	case event.GetTimerCanceledEventAttributes() != nil:
		delete(s.timers, event.GetTimerCanceledEventAttributes().StartedEventId)
	}
}

func (s *traceStory) addChild(event *history.HistoryEvent) {
	switch {
	case event.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil:
		a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		s.children[event.EventId] = &render.Trace{WorkflowID: a.WorkflowId, Type: a.GetWorkflowType().GetName(), Status: "starting"}
	case event.GetChildWorkflowExecutionStartedEventAttributes() != nil:
		a := event.GetChildWorkflowExecutionStartedEventAttributes()
		if child := s.children[a.InitiatedEventId]; child != nil {
			child.RunID, child.Started = a.GetWorkflowExecution().GetRunId(), event.GetEventTime().AsTime()
			child.Status = render.WorkflowStatus(enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
		}
	case event.GetStartChildWorkflowExecutionFailedEventAttributes() != nil:
		a := event.GetStartChildWorkflowExecutionFailedEventAttributes()
		s.endChild(a.InitiatedEventId, event, "not started", "was not started: "+a.Cause.String())
	default:
		s.addChildEnd(event)
	}
}

func (s *traceStory) addChildEnd(event *history.HistoryEvent) {
	var initiated int64
	of := enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	switch {
	case event.GetChildWorkflowExecutionCompletedEventAttributes() != nil:
		initiated, of = event.GetChildWorkflowExecutionCompletedEventAttributes().InitiatedEventId, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	case event.GetChildWorkflowExecutionFailedEventAttributes() != nil:
		initiated, of = event.GetChildWorkflowExecutionFailedEventAttributes().InitiatedEventId, enums.WORKFLOW_EXECUTION_STATUS_FAILED
	case event.GetChildWorkflowExecutionCanceledEventAttributes() != nil:
		initiated, of = event.GetChildWorkflowExecutionCanceledEventAttributes().InitiatedEventId, enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	case event.GetChildWorkflowExecutionTimedOutEventAttributes() != nil:
		initiated, of = event.GetChildWorkflowExecutionTimedOutEventAttributes().InitiatedEventId, enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT
	case event.GetChildWorkflowExecutionTerminatedEventAttributes() != nil:
		initiated, of = event.GetChildWorkflowExecutionTerminatedEventAttributes().InitiatedEventId, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	default:
		return
	}
	s.endChild(initiated, event, render.WorkflowStatus(of), "")
}

// endChild notes how a child has ended, unless its beginning is not in the history.
func (s *traceStory) endChild(initiated int64, event *history.HistoryEvent, status, ending string) {
	if child := s.children[initiated]; child != nil {
		child.Status, child.Ending, child.Ended = status, ending, event.GetEventTime().AsTime()
	}
}
