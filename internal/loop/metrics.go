package loop

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// outcome is what becomes of a message.
type outcome int

const (
	acked outcome = iota
	returned
	retried
	deadLettered
	outcomes // how many there are
)

func (o outcome) String() string {
	return [outcomes]string{"acked", "returned", "retried", "dead_letter"}[o]
}

// instruments count what becomes of messages. They do nothing until the process sets a meter provider.
type instruments struct {
	messages metric.Int64Counter
	// with are the attributes of each outcome: to make them anew for every message would cost more than to count it.
	with [outcomes][]metric.AddOption
}

func newInstruments(pool string) instruments {
	meter := otel.Meter("github.com/carillon-scheduler/carillon/internal/loop")
	// The instrument is usable even where its creation reports an error.
	messages, _ := meter.Int64Counter("carillon.pool.messages", metric.WithUnit("{message}"),
		metric.WithDescription("Task messages settled by a pool, by outcome."))
	i := instruments{messages: messages}
	for o := range outcomes {
		set := attribute.NewSet(attribute.String("pool", pool), attribute.String("outcome", o.String()))
		i.with[o] = []metric.AddOption{metric.WithAttributeSet(set)}
	}
	return i
}

func (i *instruments) settled(o outcome) {
	i.messages.Add(context.Background(), 1, i.with[o]...)
}
