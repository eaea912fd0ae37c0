package telemetry

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// The meter provider of a process that exports metrics, as far as it is needed here.
type (
	listeningProvider struct {
		noop.MeterProvider
		counter *listeningCounter
	}
	listeningMeter struct {
		noop.Meter
		counter *listeningCounter
	}
	listeningCounter struct {
		noop.Int64Counter
		count      int64
		attributes attribute.Set
	}
)

func (p listeningProvider) Meter(string, ...metric.MeterOption) metric.Meter {
	return listeningMeter{counter: p.counter}
}

func (m listeningMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return m.counter, nil
}

func (*listeningCounter) Enabled(context.Context) bool { return true }

func (c *listeningCounter) Add(_ context.Context, count int64, options ...metric.AddOption) {
	c.count, c.attributes = count, metric.NewAddConfig(options).Attributes()
}

// counter is one for all runs of the test: the first provider of a process is what its counters stay with.
var counter = &listeningCounter{}

// TestCountIgnored is not parallel: it replaces the meter provider of the process.
func TestCountIgnored(t *testing.T) {
	CountIgnored(t.Context(), "invoker", "repeat", 1) // nobody need listen
	otel.SetMeterProvider(listeningProvider{counter: counter})
	CountIgnored(t.Context(), "invoker", "repeat", 2)
	require.EqualValues(t, 2, counter.count)
	require.Equal(t, attribute.NewSet(attribute.String("pool", "invoker"), attribute.String("reason", "repeat")), counter.attributes)
}
