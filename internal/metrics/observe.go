package metrics

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// Gauge is a state that is read whenever metrics are collected.
type Gauge struct {
	Instrument
	gauge  metric.Float64ObservableGauge
	series *series[metric.ObserveOption]
}

func newGauge(group Group, i Instrument) *Gauge {
	i = describe(group, KindGauge, i)
	description, unit := i.options()
	gauge, _ := meter.Float64ObservableGauge(i.Name, description, unit)
	return &Gauge{i, gauge, newObserved(i.Attributes)}
}

// Total is a counter that is kept elsewhere, and read whenever metrics are collected.
type Total struct {
	Instrument
	counter metric.Int64ObservableCounter
	series  *series[metric.ObserveOption]
}

func newTotal(group Group, i Instrument) *Total {
	i = describe(group, KindTotal, i)
	description, unit := i.options()
	counter, _ := meter.Int64ObservableCounter(i.Name, description, unit)
	return &Total{i, counter, newObserved(i.Attributes)}
}

// Observable is a [Gauge] or a [Total].
type Observable interface{ observable() metric.Observable }

func (g *Gauge) observable() metric.Observable { return g.gauge }
func (t *Total) observable() metric.Observable { return t.counter }

// Observer records observations.
type Observer struct{ to metric.Observer }

// Gauge observes a value. values are those of the attributes, in their order.
func (o Observer) Gauge(g *Gauge, value float64, values ...string) {
	o.to.ObserveFloat64(g.gauge, value, g.series.with(values)...)
}

// Bool observes 1 for true and 0 for false.
func (o Observer) Bool(g *Gauge, value bool, values ...string) {
	number := 0.0
	if value {
		number = 1
	}
	o.Gauge(g, number, values...)
}

// Total observes a count. values are those of the attributes, in their order.
func (o Observer) Total(t *Total, count int64, values ...string) {
	o.to.ObserveInt64(t.counter, count, t.series.with(values)...)
}

// Observe calls a function whenever metrics are collected, until stop is called. The function may observe the given instruments.
// It must be safe for concurrent use and must not take long.
func Observe(observe func(context.Context, Observer), instruments ...Observable) (stop func()) {
	observed := make([]metric.Observable, len(instruments))
	for i, instrument := range instruments {
		observed[i] = instrument.observable()
	}
	registration, err := meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		observe(ctx, Observer{to})
		return nil
	}, observed...)
	if err != nil {
		return func() {} // it cannot happen with instruments of the same meter
	}
	return func() { _ = registration.Unregister() } // an error would mean that it is not registered
}
