package backfiller

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// countHandOff counts what a step of a backfill has handed over. It is called after the record of the step has been stored.
func countHandOff(ctx context.Context, namespace string, d *Decision) {
	if d.HandOff == nil || d.State.Trigger != nil {
		return
	}
	metrics.BackfillHandedOver.Add(ctx, len(d.HandOff.Starts), namespace)
	metrics.BackfillRemaining.Record(ctx, float64(max(d.State.Total-d.State.Handed, 0)), namespace)
}

// countFinished counts a request whose record has been removed.
func countFinished(ctx context.Context, namespace string, d *Decision) {
	outcome := metrics.FinishedCompleted
	for i := range d.Events {
		if d.Events[i].Kind == schedule.EventBackfillCanceled {
			outcome = metrics.FinishedCanceled
		}
	}
	metrics.RequestFinished.Add(ctx, 1, namespace, kindOf(&d.State), outcome)
}

func countGone(ctx context.Context, namespace string, state *wire.BackfillState) {
	metrics.RequestFinished.Add(ctx, 1, namespace, kindOf(state), metrics.FinishedGone)
}

func kindOf(state *wire.BackfillState) string {
	if state.Trigger != nil {
		return metrics.RequestTrigger
	}
	return metrics.RequestBackfill
}
