package generator

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// countHandOff counts a hand-off after its record has been stored.
func countHandOff(ctx context.Context, namespace string, e *wire.Enqueue, now time.Time) {
	if e.DropReason != "" {
		metrics.Frozen.Add(ctx, e.Dropped, namespace)
	}
	metrics.HandedOver.Add(ctx, len(e.Starts), namespace)
	if !metrics.HandOverLatency.Enabled(ctx) {
		return
	}
	for i := range e.Starts {
		metrics.HandOverLatency.RecordTime(ctx, now.Sub(e.Starts[i].Actual), namespace)
	}
}
