package history

import (
	"context"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

// reset begins a new run with the first events of a run. Unlike other inputs, a reset needs to know more than the state: the histories of the run
// and of those that continued it. So they are read anew whenever another process has been faster.
func (s *Service) reset(ctx context.Context, key schedule.Key, r *workflowservice.ResetWorkflowExecutionRequest) (proto.Message, error) {
	return s.attempts(ctx, key, func(of *slot) (proto.Message, error) { return s.tryReset(ctx, of, r) })
}

// tryReset is reset for a caller that has the turn. The error wraps journal.ErrConflict if another process was faster.
func (s *Service) tryReset(ctx context.Context, of *slot, r *workflowservice.ResetWorkflowExecutionRequest) (proto.Message, error) {
	base, err := s.run(ctx, of, r.GetWorkflowExecution().GetRunId())
	if err != nil {
		return nil, err
	}
	if s.expired(of.key, base.Run) {
		return nil, errNoRun(of.key, base.Run.ID) // it may be removed at any moment
	}
	in := execution.Reset{Request: r, Base: base.Run}
	if in.Events, err = s.events(ctx, of, base.Run); err != nil {
		return nil, err
	}
	if in.Later, err = s.later(ctx, of, in); err != nil {
		return nil, err
	}
	d, err := s.decide(ctx, of, in)
	if err != nil {
		return nil, err
	}
	return s.carryOut(ctx, of, d)
}

// later returns the runs that continued the base of a reset as new.
func (s *Service) later(ctx context.Context, of *slot, in execution.Reset) ([]execution.LaterRun, error) {
	for next := in.Next(); next != ""; next = in.Next() {
		state, err := s.run(ctx, of, next)
		if isNotFound(err) {
			break // what came to it is gone
		}
		if err != nil {
			return nil, err
		}
		events, err := s.events(ctx, of, state.Run)
		if err != nil {
			return nil, err
		}
		in.Later = append(in.Later, execution.LaterRun{RunID: next, Events: events})
	}
	return in.Later, nil
}

// events returns all events of a run.
func (s *Service) events(ctx context.Context, of *slot, run *execution.Run) ([]*historypb.HistoryEvent, error) {
	if events, ok := of.recent.span(run.ID, 1, run.NextEvent-1); ok {
		return events, nil
	}
	events, err := run.ReadEvents(s.reader(ctx, of, of.state.Sequence))
	return events, s.unlessRemoved(ctx, of, run.ID, run.First, err)
}
