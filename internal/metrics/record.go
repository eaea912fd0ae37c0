package metrics

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Untraced returns the context of a measurement that belongs to no span.
func Untraced() context.Context {
	return context.Background() //permit:context.Background this is the one place for all measurements
}

// Counter counts events.
type Counter struct {
	Instrument
	counter metric.Int64Counter
	series  *series[metric.AddOption]
}

func newCounter(group Group, i Instrument) *Counter {
	i = describe(group, KindCounter, i)
	description, unit := i.options()
	// Here and below: the instrument is usable even if its creation reports an error.
	counter, _ := meter.Int64Counter(i.Name, description, unit)
	return &Counter{i, counter, newSeries(i.Attributes, func(o metric.MeasurementOption) metric.AddOption { return o })}
}

// Add counts n. values are those of the instrument's attributes, in their order.
func (c *Counter) Add(ctx context.Context, n int, values ...string) {
	if n == 0 || !c.counter.Enabled(ctx) {
		return
	}
	c.counter.Add(ctx, int64(n), c.series.with(values)...)
}

// UpDown counts things that come and go.
type UpDown struct {
	Instrument
	counter metric.Int64UpDownCounter
	series  *series[metric.AddOption]
}

func newUpDown(group Group, i Instrument) *UpDown {
	i = describe(group, KindUpDown, i)
	description, unit := i.options()
	counter, _ := meter.Int64UpDownCounter(i.Name, description, unit)
	return &UpDown{i, counter, newSeries(i.Attributes, func(o metric.MeasurementOption) metric.AddOption { return o })}
}

// Add counts n, which may be negative. values are those of the instrument's attributes, in their order.
func (c *UpDown) Add(ctx context.Context, n int, values ...string) {
	if n == 0 || !c.counter.Enabled(ctx) {
		return
	}
	c.counter.Add(ctx, int64(n), c.series.with(values)...)
}

// Histogram shows the distribution of a value.
type Histogram struct {
	Instrument
	histogram metric.Float64Histogram
	series    *series[metric.RecordOption]
}

func newHistogram(group Group, i Instrument) *Histogram {
	i = describe(group, KindHistogram, i)
	description, unit := i.options()
	histogram, _ := meter.Float64Histogram(i.Name, description, unit, metric.WithExplicitBucketBoundaries(i.Buckets...))
	return &Histogram{i, histogram, newSeries(i.Attributes, func(o metric.MeasurementOption) metric.RecordOption { return o })}
}

// Record records a value in the unit of the instrument. values are those of its attributes, in their order.
func (h *Histogram) Record(ctx context.Context, value float64, values ...string) {
	if !h.histogram.Enabled(ctx) {
		return
	}
	h.histogram.Record(ctx, value, h.series.with(values)...)
}

// RecordTime records a time in a histogram of seconds. A negative time, from clocks that disagree, counts as 0.
func (h *Histogram) RecordTime(ctx context.Context, took time.Duration, values ...string) {
	if !h.histogram.Enabled(ctx) {
		return
	}
	h.histogram.Record(ctx, max(took, 0).Seconds(), h.series.with(values)...)
}

// Enabled reports whether somebody collects the instrument, for callers that would have to compute what to record.
func (h *Histogram) Enabled(ctx context.Context) bool { return h.histogram.Enabled(ctx) }
