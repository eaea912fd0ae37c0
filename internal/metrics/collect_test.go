package metrics_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// point is one series: its value, or for a histogram the number of values and their sum.
type point struct {
	labels map[string]string
	value  float64
	count  int
	gauge  bool
}

// collected has the series by the name of their instrument.
type collected map[string][]point

// since returns a function that collects from now on: earlier counts are left out.
func since(t testing.TB) func() collected {
	t.Helper()
	before := collect(t)
	return func() collected {
		t.Helper()
		now := collect(t)
		for name, points := range now {
			for i := range points {
				for _, p := range before[name] {
					if !p.gauge && maps.Equal(p.labels, points[i].labels) {
						points[i].value -= p.value
						points[i].count -= p.count
					}
				}
			}
		}
		return now
	}
}

func collect(t testing.TB) collected {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.WithoutCancel(t.Context()), &all))
	found := collected{}
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.Name != metrics.Scope {
			continue
		}
		for _, m := range scope.Metrics {
			found[m.Name] = points(m.Data)
		}
	}
	return found
}

func points(data metricdata.Aggregation) (all []point) {
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			all = append(all, point{labels: labelsOf(p.Attributes), value: float64(p.Value)})
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			all = append(all, point{labels: labelsOf(p.Attributes), value: p.Value, gauge: true})
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			all = append(all, point{labels: labelsOf(p.Attributes), value: p.Sum, count: int(p.Count)})
		}
	}
	return all
}

func labelsOf(set attribute.Set) map[string]string {
	labels := map[string]string{}
	for _, label := range set.ToSlice() {
		labels[string(label.Key)] = label.Value.AsString()
	}
	return labels
}

// of adds up those series of an instrument that have some labels, given as names and values in turn.
func (c collected) of(i metrics.Instrument, labels ...string) (sum point) {
	want := map[string]string{}
	for at := 0; at < len(labels); at += 2 {
		want[labels[at]] = labels[at+1]
	}
	for _, p := range c[i.Name] {
		merged := maps.Clone(p.labels)
		maps.Copy(merged, want)
		if maps.Equal(merged, p.labels) {
			sum.value += p.value
			sum.count += p.count
		}
	}
	return sum
}

func (c collected) value(i metrics.Instrument, labels ...string) int {
	return int(c.of(i, labels...).value)
}
