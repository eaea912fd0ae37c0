package loop

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments count what becomes of messages. They do nothing until the process sets a meter provider.
type instruments struct {
	messages metric.Int64Counter
	pool     attribute.KeyValue
}

func newInstruments(pool string) instruments {
	meter := otel.Meter("github.com/carillon-scheduler/carillon/internal/loop")
	// The instrument is usable even where its creation reports an error.
	messages, _ := meter.Int64Counter("carillon.pool.messages", metric.WithUnit("{message}"),
		metric.WithDescription("Task messages settled by a pool, by outcome."))
	return instruments{messages: messages, pool: attribute.String("pool", pool)}
}

func (i instruments) settled(outcome string) {
	i.messages.Add(context.Background(), 1, metric.WithAttributes(i.pool, attribute.String("outcome", outcome)))
}
