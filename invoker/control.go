package invoker

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// deliverAll delivers controls in parallel, but controls for one workflow ID in order, because the control stream keeps the last one. It
// returns the delivered controls; the others are tried again.
func (s *session) deliverAll(ctx context.Context, controls []wire.PendingControl) []wire.PendingControl {
	if len(controls) == 0 {
		return nil
	}
	lanes := map[string][]int{}
	for i, c := range controls {
		if s.mustWait(&c) {
			continue
		}
		subject := s.config.Names.Control(s.key.Namespace, c.TaskQueue, c.WorkflowID)
		lanes[subject] = append(lanes[subject], i)
	}
	done := make([]bool, len(controls))
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for _, lane := range lanes {
		group.Go(func() error {
			for _, i := range lane {
				if err := s.deliver(ctx, controls[i]); err != nil {
					s.config.Logger.WarnContext(ctx, "control not delivered, will try again", "kind", controls[i].Kind,
						"run_id", controls[i].RunID, "error", err)
					break
				}
				done[i] = true
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	var delivered []wire.PendingControl
	for i, c := range controls {
		if done[i] {
			delivered = append(delivered, c)
		}
	}
	return delivered
}

// deliver delivers a cancel or terminate to a run, wherever the run is. The control stream keeps it for a worker that takes the run later.
// A terminated run is also removed from the action stream.
func (s *session) deliver(ctx context.Context, c wire.PendingControl) error {
	if c.ActionKind.IsWorkflow() {
		return s.deliverToWorkflow(ctx, &c)
	}
	if err := s.tell(ctx, s.key, &c); err != nil {
		return err
	}
	if c.Kind != schedule.ControlTerminate {
		return nil
	}
	if err := s.withdraw(ctx, c); err != nil {
		return err
	}
	if !s.completed(c.RequestID) { // the completion of a run also removes its timer
		s.disarm(ctx, s.key, c.RequestID)
	}
	return nil
}

// tell stores a cancel or terminate in the control stream.
func (p *Pool) tell(ctx context.Context, key schedule.Key, c *wire.PendingControl) error {
	subject := p.config.Names.Control(key.Namespace, c.TaskQueue, c.WorkflowID)
	return task.Control(ctx, p.config.Bus, subject, schedule.Control{
		Kind: c.Kind, RequestID: c.RequestID, RunID: c.RunID, WorkflowID: c.WorkflowID,
	})
}

// completed reports whether the record has the completion of a run.
func (s *session) completed(requestID string) bool {
	return s.record.Value.Ended.Has(requestID)
}

// disarm removes the timeout timer of a run that is over. It makes only one attempt: a timer that remains fires without effect, perhaps
// days later.
func (p *Pool) disarm(ctx context.Context, key schedule.Key, requestID string) {
	if err := p.purgeTimeout(ctx, key, requestID); err != nil {
		p.config.Logger.DebugContext(ctx, "timeout timer not removed", "namespace", key.Namespace, "schedule_id", key.ID, "error", err)
	}
}

func (p *Pool) purgeTimeout(ctx context.Context, key schedule.Key, requestID string) error {
	shard := p.config.Store.ShardOf(key)
	return p.purgeTimer(ctx, shard, p.config.Names.TimeoutTimer(shard, key, requestID))
}

// disarmReported begins to remove the timeout timers of the runs that workers have reported in a group of messages. It returns a function
// that waits until this is done. The record already says that the runs are over. If the removal fails, the reports come again; this then
// tries again, because the record no longer knows the runs as running.
func (p *Pool) disarmReported(
	ctx context.Context, key schedule.Key, group []loop.Message[Message], mayHave func(requestID string) bool,
) (wait func() error) {
	var reported []string
	for i := range group {
		// A timeout is the timer itself: it has fired.
		if c := group[i].Body.Completion; c != nil && !group[i].Held && !group[i].Task.IsTimeout() && mayHave(c.RequestID) {
			reported = append(reported, c.RequestID)
		}
	}
	var disarming errgroup.Group
	if len(reported) > 0 {
		disarming.Go(func() error {
			var each errgroup.Group
			each.SetLimit(startsAtOnce)
			for _, requestID := range reported {
				each.Go(func() error { return p.purgeTimeout(ctx, key, requestID) })
			}
			return each.Wait()
		})
	}
	return disarming.Wait
}

// mayHaveTimer returns a function that reports whether a run may have a timeout timer, according to the present record. A run has none if
// the record knows it and its action has no timeout.
func (s *session) mayHaveTimer() func(requestID string) bool {
	before, timed := s.record.Value, runTimeout(&s.definition.Value.Schedule.Action) > 0
	return func(requestID string) bool { return timed || before.Start(requestID) == nil }
}

// withdraw removes a run from the action stream.
func (s *session) withdraw(ctx context.Context, c wire.PendingControl) error {
	stored, err := s.queued(ctx, s.key.Namespace, c.TaskQueue, c.WorkflowID)
	if errors.Is(err, bus.ErrNone) || err == nil && stored.Header.Get(nats.MsgIdHdr) != c.RequestID {
		return nil
	}
	if err != nil {
		return err
	}
	return s.remove(ctx, stored.Sequence)
}

// remove deletes a message from the action stream.
func (s *session) remove(ctx context.Context, sequence uint64) error {
	return s.config.Bus.Remove(ctx, s.config.Names.ActionStream(), sequence)
}
