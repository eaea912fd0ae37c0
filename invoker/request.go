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

// request returns the request to a worker, made from the present action.
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

// runTimeout returns the shorter of run and execution timeout; 0 if there is neither.
func runTimeout(action *schedule.Action) time.Duration {
	run, execution := action.RunTimeout.Std(), action.ExecutionTimeout.Std()
	if run == 0 || execution > 0 && execution < run {
		return execution
	}
	return run
}

// errNoTrigger: the start needs the input of its trigger, and the trigger is gone.
var errNoTrigger = errors.New("the trigger that says with what to run is gone")

// override puts the replacements of a trigger into the request of its start. The record of the trigger stays until its start has been
// executed. Without the record the start must not run, because it would not do what was asked for.
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

// merge returns base with the entries of over, which replace entries of the same names. It changes neither map.
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
