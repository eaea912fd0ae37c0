package events

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

var corrupt = sync.OnceValue(func() metric.Int64Counter {
	meter := otel.Meter("github.com/carillon-scheduler/carillon/internal/events")
	// The instrument is usable even where its creation reports an error.
	counter, _ := meter.Int64Counter("carillon.events.corrupt", metric.WithUnit("{event}"),
		metric.WithDescription("Entries of the event history that could not be read, each time one was met."))
	return counter
})

// countCorrupt counts nothing until the process sets a meter provider.
func countCorrupt(ctx context.Context) { corrupt().Add(ctx, 1) }
