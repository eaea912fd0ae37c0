package invoker

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/carillon-scheduler/carillon/schedule"
)

var delayed = sync.OnceValue(func() metric.Int64Counter {
	meter := otel.Meter("github.com/carillon-scheduler/carillon/invoker")
	// The instrument is usable even where its creation reports an error.
	counter, _ := meter.Int64Counter("carillon.invoker.delayed", metric.WithUnit("{start}"),
		metric.WithDescription("Starts that a limit of their namespace delayed, by reason."))
	return counter
})

// countDelayed counts starts that are delayed now. Nothing is counted until the process sets a meter provider.
func countDelayed(ctx context.Context, starts map[schedule.DelayReason]int) {
	for reason, count := range starts {
		delayed().Add(ctx, int64(count), metric.WithAttributes(attribute.String("reason", string(reason))))
	}
}
