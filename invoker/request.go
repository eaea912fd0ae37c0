package invoker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// request returns the request to a worker, made from an action.
func (s *session) request(
	start *wire.BufferedStart, action *schedule.Action, last wire.Result, now time.Time,
) schedule.ActionRequest {
	d := &s.definition.Value
	request := schedule.ActionRequest{
		Namespace: d.Namespace, ScheduleID: d.ID, WorkflowID: start.WorkflowID, RunID: start.RunID,
		RequestID: start.RequestID, Type: action.Type, TaskQueue: start.TaskQueue,
		Callback:    s.config.Names.Callback(s.shard(), s.key, start.TaskQueue, start.RequestID),
		NominalTime: start.Nominal, DueTime: start.Actual,
		TaskTimeout: action.TaskTimeout, HeartbeatTimeout: action.HeartbeatTimeout, Input: action.Input, Headers: action.Headers, Memo: action.Memo,
		SearchAttributes: action.SearchAttributes, RetryPolicy: action.RetryPolicy, Priority: action.Priority,
		LastSuccess: last.Success, LastFailure: last.Failure,
	}
	if timeout := runTimeout(action); timeout > 0 {
		request.Deadline = now.Add(timeout).UTC()
	}
	return request
}

// runTimeout returns the shorter of run and execution timeout; 0 if there is neither. Workflows see to their own.
func runTimeout(action *schedule.Action) time.Duration {
	if action.Kind.IsWorkflow() {
		return 0
	}
	run, execution := action.RunTimeout.Std(), action.ExecutionTimeout.Std()
	if run == 0 || execution > 0 && execution < run {
		return execution
	}
	return run
}

var (
	// errNoTrigger: the start needs the input of its trigger, and the trigger is gone.
	errNoTrigger = errors.New("the trigger that says with what to run is gone")
	// errOtherKind: an update has replaced a run by a workflow, or the reverse, after the start was chosen. Where the start might have been made
	// before depends on its kind.
	errOtherKind = errors.New("the schedule starts something of another kind by now")
)

// actionOf returns the present action with the replacements of the start's trigger. The record of the trigger stays until its start has been
// executed. Without the record the start must not run, because it would not do what was asked for. refused says that the start can never run
// as it is.
func (s *session) actionOf(ctx context.Context, start *wire.BufferedStart) (action schedule.Action, refused bool, err error) {
	action = s.definition.Value.Schedule.Action
	if action.Kind.IsWorkflow() != start.ActionKind.IsWorkflow() {
		return action, true, errOtherKind
	}
	if !start.Overridden {
		return action, false, nil
	}
	record, err := kv.GetLeader(ctx, s.config.Store, kv.Backfill(s.key, start.Source))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return action, false, fmt.Errorf("read the trigger: %w", err)
	}
	trigger := record.Value.Trigger
	if err != nil || trigger == nil || record.Value.Incarnation != s.definition.Value.Incarnation {
		return action, true, errNoTrigger
	}
	action, err = action.With(trigger)
	if err != nil {
		return action, true, fmt.Errorf("the trigger does not fit the workflow: %w", err)
	}
	return action, false, nil
}
