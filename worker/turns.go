package worker

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// turns limits how many runs of an action type execute at once: each limited type has a channel with a token for each run that executes.
type turns map[string]chan struct{}

func newTurns(limits map[string]int) turns {
	t := turns{}
	for actionType, limit := range limits {
		t[actionType] = make(chan struct{}, limit)
	}
	return t
}

// await waits until the limit of its type lets a run execute. It reports false if the run ends first. It also reports false if stopping
// ends first, unless this is the last attempt of the run.
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
