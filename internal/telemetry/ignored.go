package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var ignored = sync.OnceValue(func() metric.Int64Counter {
	meter := otel.Meter("github.com/carillon-scheduler/carillon")
	// The instrument is usable even where its creation reports an error.
	counter, _ := meter.Int64Counter("carillon.pool.ignored", metric.WithUnit("{message}"),
		metric.WithDescription("Messages that told a pool nothing new, by reason."))
	return counter
})

// CountIgnored counts messages that told a pool nothing new. The reason is one of a small and fixed set. Nothing is
// counted until the process sets a meter provider.
func CountIgnored(ctx context.Context, pool, reason string, count int) {
	counter := ignored()
	if !counter.Enabled(ctx) {
		return // the attributes cost more than all the rest
	}
	counter.Add(ctx, int64(count),
		metric.WithAttributes(attribute.String("pool", pool), attribute.String("reason", reason)))
}
