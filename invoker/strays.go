package invoker

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// endStrays ends the requested runs that no record knows. state is the record of the present schedule; nil if it is gone. Runs that this
// record knows are left to its transition.
func (p *Pool) endStrays(
	ctx context.Context, key schedule.Key, group []loop.Message[Message], state *wire.InvokerState,
) error {
	for i := range group {
		e := group[i].Body.End
		if e == nil || group[i].Held || !e.Stray() || state != nil && state.Start(e.RequestID) != nil {
			continue
		}
		if err := p.endStray(ctx, key, e); err != nil {
			return err
		}
	}
	return nil
}

// endStray asks a run to end. A canceled run that no worker has taken ends at once, because nobody would report it.
func (p *Pool) endStray(ctx context.Context, key schedule.Key, e *wire.EndRun) error {
	over, err := p.end(ctx, key, &Departure{
		Control: wire.PendingControl{
			Kind: e.Kind, RequestID: e.RequestID, WorkflowID: e.WorkflowID, RunID: e.RunID, TaskQueue: e.TaskQueue,
			ActionKind: e.ActionKind, Reason: e.Text(),
		},
		Withdraw: true,
	})
	if err != nil || e.GivenUp && !over {
		return err
	}
	return p.events.Publish(ctx, strayEvents(key, e, over, p.config.Now().UTC())...)
}

// leaveBehind ends runs that do not belong to the present schedule. These are the runs of an earlier schedule of the same ID, whose record
// is about to be replaced, and the runs that requests name.
func (p *Pool) leaveBehind(
	ctx context.Context, a *attempt, d *wire.Definition, state *wire.InvokerState,
) error {
	if state.Incarnation == d.Incarnation || state.Incarnation == "" {
		return p.endStrays(ctx, a.key, a.group, state)
	}
	ended, err := p.depart(ctx, a.key, state, a.group)
	if err != nil {
		return err
	}
	if err := p.events.Publish(ctx, ended...); err != nil {
		return err
	}
	return p.endStrays(ctx, a.key, a.group, nil)
}

// isStray reports whether endStrays handles a request, and not a transition.
func isStray(e *wire.EndRun, state *wire.InvokerState) bool {
	return e.Stray() && state.Start(e.RequestID) == nil
}

// strayEvents returns the events of a request to end a run whose schedule is gone, including the end of the run if it is over. Repeats give
// the same IDs.
func strayEvents(key schedule.Key, e *wire.EndRun, over bool, now time.Time) []schedule.Event {
	asked := schedule.Event{
		ID: "stray-" + string(e.Kind) + "-" + e.RequestID, Time: now, Namespace: key.Namespace, ScheduleID: key.ID,
		Kind: schedule.EventCancelRequested, RequestID: e.RequestID, WorkflowID: e.WorkflowID, RunID: e.RunID,
		TaskQueue: e.TaskQueue, ActionKind: e.ActionKind, Identity: e.Identity, Reason: e.Reason,
	}
	if e.Kind == schedule.ControlTerminate {
		asked.Kind = schedule.EventTerminated
	}
	if !over {
		return []schedule.Event{asked}
	}
	ended := asked
	ended.ID, ended.Kind, ended.CloseTime = "stray-ended-"+e.RequestID, schedule.EventCompleted, now
	ended.Status = schedule.StatusCanceled
	if e.Kind == schedule.ControlTerminate {
		ended.Status = schedule.StatusTerminated
	}
	ended.Failure = &schedule.Failure{Type: string(ended.Status), Message: e.Text()}
	return []schedule.Event{asked, ended}
}
