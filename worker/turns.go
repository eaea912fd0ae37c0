package worker

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// turns are the places of the action types that have a limit: a channel with a token for each run that executes.
type turns map[string]chan struct{}

func newTurns(limits map[string]int) turns {
	t := turns{}
	for actionType, limit := range limits {
		t[actionType] = make(chan struct{}, limit)
	}
	return t
}

// await waits until a run may execute beside the others of its type. It reports false if the run ends before, or stopping
// does, which counts only for a run that another worker may try again.
func (t turns) await(h *held, stopping context.Context) bool {
	turn, limited := t[h.request.Type]
	if !limited {
		return true
	}
	select {
	case turn <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := withDeadline(h.ctx, h.request.Deadline)
	defer cancel()
	var stopped <-chan struct{}
	if !attemptsUsed(h.request.RetryPolicy, h.delivery) {
		stopped = stopping.Done()
	}
	select {
	case turn <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-stopped:
	}
	return false
}

// end gives up the place of a run.
func (t turns) end(request *schedule.ActionRequest) {
	if turn, limited := t[request.Type]; limited {
		<-turn
	}
}

func withDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	if deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline)
}
