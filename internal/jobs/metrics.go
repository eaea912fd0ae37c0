package jobs

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments count jobs and what becomes of their items. They do nothing until the process sets a meter provider.
type instruments struct {
	running metric.Int64UpDownCounter
	items   metric.Int64Counter
}

func newInstruments() instruments {
	meter := otel.Meter("github.com/carillon-scheduler/carillon/internal/jobs")
	// The instruments are usable even where their creation reports an error.
	running, _ := meter.Int64UpDownCounter("carillon.jobs.running", metric.WithUnit("{job}"),
		metric.WithDescription("Background jobs that this process works on, by kind."))
	items, _ := meter.Int64Counter("carillon.jobs.items", metric.WithUnit("{item}"),
		metric.WithDescription("Items of background jobs that this process has settled, by kind and outcome."))
	return instruments{running: running, items: items}
}

func (i *instruments) begun(kind string) { i.add(kind, 1) }

func (i *instruments) over(kind string) { i.add(kind, -1) }

func (i *instruments) add(kind string, change int64) {
	i.running.Add(context.Background(), change, metric.WithAttributes(attribute.String("kind", kind)))
}

func (i *instruments) settled(kind string, result Result) {
	i.items.Add(context.Background(), 1,
		metric.WithAttributes(attribute.String("kind", kind), attribute.String("outcome", string(result))))
}
