package invoker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// request is what a worker is asked for, by the action as it is now.
func (s *session) request(start *wire.BufferedStart, last wire.Result, now time.Time) schedule.ActionRequest {
	d := &s.definition.Value
	action := &d.Schedule.Action
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

// runTimeout is the shorter of run and execution timeout; 0 if there is neither.
func runTimeout(action *schedule.Action) time.Duration {
	run, execution := action.RunTimeout.Std(), action.ExecutionTimeout.Std()
	if run == 0 || execution > 0 && execution < run {
		return execution
	}
	return run
}

// errNoTrigger: a start is to run with another input than the action's, and nothing says with which.
var errNoTrigger = errors.New("the trigger that says with what to run is gone")

// override puts what a trigger replaces into the request of its start. The record of the trigger stays until its start
// has been executed; without it the start must not run, since it would do something else than was asked for.
func (s *session) override(ctx context.Context, start *wire.BufferedStart, request *schedule.ActionRequest) error {
	if !start.Overridden {
		return nil
	}
	record, err := kv.GetLeader(ctx, s.config.Store, kv.Backfill(s.key, start.Source))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("read the trigger: %w", err)
	}
	trigger := record.Value.Trigger
	if err != nil || trigger == nil || record.Value.Incarnation != s.definition.Value.Incarnation {
		return errNoTrigger
	}
	if len(trigger.Input) > 0 {
		request.Input = trigger.Input
	}
	request.Headers = merge(request.Headers, trigger.Headers)
	request.Memo = merge(request.Memo, trigger.Memo)
	return nil
}

// merge returns base with the entries of over in place of its own of the same names. It changes neither.
func merge[V any](base, over map[string]V) map[string]V {
	if len(over) == 0 {
		return base
	}
	merged := maps.Clone(base)
	if merged == nil {
		merged = map[string]V{}
	}
	maps.Copy(merged, over)
	return merged
}
