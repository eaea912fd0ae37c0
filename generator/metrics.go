package generator

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/carillon-scheduler/carillon/schedule"
)

var frozen = sync.OnceValue(func() metric.Int64Counter {
	meter := otel.Meter("github.com/carillon-scheduler/carillon/generator")
	// The instrument is usable even where its creation reports an error.
	counter, _ := meter.Int64Counter("carillon.generator.frozen", metric.WithUnit("{action}"),
		metric.WithDescription("Due actions dropped because their namespace was frozen."))
	return counter
})

// countFrozen counts what a hand-off drops because of a freeze. Nothing is counted until the process sets a meter provider.
func countFrozen(ctx context.Context, e *schedule.Enqueue) {
	if e.DropReason != "" {
		frozen().Add(ctx, int64(e.Dropped))
	}
}
