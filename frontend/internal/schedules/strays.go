package schedules

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A stray is a run that its task queue has and no record mentions: its schedule has been deleted, or is another one by now. The
// event history mentions it for as long as events are kept, the action stream for as long as it is there.

// endStray tells the invoker to end a run that no record mentions. It returns missing if there is no such run.
func (s *Service) endStray(
	ctx context.Context, key schedule.Key, kind schedule.ControlKind, req *schedule.EndRunRequest, missing error,
) (schedule.EndRunReply, error) {
	run, found, err := s.stray(ctx, key, req.Run)
	switch {
	case err != nil:
		return schedule.EndRunReply{}, err
	case !found && run.Status != "":
		return schedule.EndRunReply{Run: run}, checkEnded(&run, kind, req.Run)
	case !found:
		return schedule.EndRunReply{}, missing
	}
	end := &wire.EndRun{
		Kind: kind, RequestID: run.RequestID, Reason: req.Reason, Identity: request.IdentityOf(ctx),
		WorkflowID: run.WorkflowID, RunID: run.RunID, TaskQueue: run.TaskQueue, ActionKind: run.ActionKind,
	}
	subject := s.names.InvokeEnd(s.store.ShardOf(key), key, kind, run.RequestID)
	return schedule.EndRunReply{Run: run}, task.Publish(ctx, s.bus, subject, end)
}

// stray looks for a run that no record mentions, by its name. found means that its task queue has it, or that it is a workflow
// whose end is not known: the invoker asks the workflow. Otherwise its status says how it ended, as far as the history knows.
func (s *Service) stray(ctx context.Context, key schedule.Key, name string) (run schedule.Run, found bool, err error) {
	if s.js == nil {
		return run, false, nil // a simulation has no history to read
	}
	trail := newRunTrail(name, nil)
	left := s.readBudget
	if _, _, err := s.backwards(ctx, events.Query{Key: key}, &left, trail.visit); err != nil {
		return run, false, err
	}
	if told, ok := trail.run(key.ID); ok {
		run = told
		if run.ActionKind.IsWorkflow() && run.Status == "" {
			run.Failure = nil
			return run, true, nil
		}
		if found, err := s.inQueue(ctx, key, &run); found || err != nil {
			return run, found, err
		}
	}
	// If the history has forgotten the run, its workflow ID leads to it.
	request, err := s.startRequest(ctx, s.names.ActionAnyQueue(key.Namespace, name))
	if err != nil || request == nil || request.ScheduleID != key.ID {
		return run, false, err
	}
	return schedule.Run{
		ScheduleID: key.ID, WorkflowID: request.WorkflowID, RunID: request.RunID, RequestID: request.RequestID,
		NominalTime: request.NominalTime, DueTime: request.DueTime, TaskQueue: request.TaskQueue,
	}, true, nil
}

// isInAQueue reports whether a task queue may have a run.
func isInAQueue(run *schedule.Run) bool {
	return run.Status == "" && run.TaskQueue != "" && !run.ActionKind.IsWorkflow()
}

// inQueue reports whether the task queue of a run has it. If so, the run is in progress, and inQueue corrects a history that does
// not know that.
func (s *Service) inQueue(ctx context.Context, key schedule.Key, run *schedule.Run) (bool, error) {
	if !isInAQueue(run) {
		return false, nil
	}
	last, err := s.bus.Last(ctx, s.names.ActionStream(), s.names.Action(key.Namespace, run.TaskQueue, run.WorkflowID))
	if errors.Is(err, bus.ErrNone) {
		return false, nil
	}
	if err != nil || last.Header.Get(jetstream.MsgIDHeader) != run.RequestID {
		return false, err
	}
	run.Failure = nil
	return true, nil
}

// startRequest reads the last start request on a subject of the action stream; nil if there is none.
func (s *Service) startRequest(ctx context.Context, subject string) (*schedule.ActionRequest, error) {
	last, err := s.bus.Last(ctx, s.names.ActionStream(), subject)
	if errors.Is(err, bus.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var request schedule.ActionRequest
	if json.Unmarshal(last.Data, &request) != nil {
		return nil, nil // no worker could run it either
	}
	return &request, nil
}

// strayLooks corrects the runs that one request lists, as [Service.inQueue] does.
type strayLooks struct {
	service   *Service
	namespace string
	left      *budget
}

// correct reports whether there was something left for the look at the task queue of a run whose end is unknown. Other runs need no look.
func (l *strayLooks) correct(ctx context.Context, run *schedule.Run) (enough bool, err error) {
	if !endUnknown(run) || !isInAQueue(run) {
		return true, nil
	}
	if !l.left.look() {
		return false, nil
	}
	_, err = l.service.inQueue(ctx, schedule.Key{Namespace: l.namespace, ID: run.ScheduleID}, run)
	return true, err
}
