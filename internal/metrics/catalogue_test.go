package metrics_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

var (
	instrumentName = regexp.MustCompile(`^carillon(\.[a-z][a-z_]*)+$`)
	labelName      = regexp.MustCompile(`^[a-z][a-z_]*$`)
)

func TestCatalogueIsInOrder(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, i := range metrics.Catalogue() {
		assert.Regexp(t, instrumentName, i.Name)
		assert.False(t, names[i.Name], "%s is there twice", i.Name)
		names[i.Name] = true
		assert.Regexp(t, `^[A-Z0-9c].*\.$`, i.Description, i.Name)
		assert.NotEmpty(t, i.By, i.Name)
		assert.Contains(t, metrics.Groups(), i.Group, i.Name)
		assert.Equal(t, i.Kind == metrics.KindHistogram, len(i.Buckets) > 0, "%s: buckets", i.Name)
		assert.True(t, slices.IsSorted(i.Buckets), i.Name)
		assert.LessOrEqual(t, len(i.Attributes), 4, i.Name)
		for _, a := range i.Attributes {
			assert.Regexp(t, labelName, a.Name, i.Name)
			assert.NotEqual(t, len(a.Values) > 0, a.Means != "", "%s: %s has values, or says what they are", i.Name, a.Name)
			assert.False(t, a.Name == "schedule_id" && i.Group != metrics.GroupWatched, "%s: too many series", i.Name)
		}
	}
}

// TestPrometheusNames makes every instrument again, and checks what the exporter names it.
func TestPrometheusNames(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	require.NoError(t, err)
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter(metrics.Scope)
	want := map[string]metrics.Instrument{}
	for _, i := range metrics.Catalogue() {
		record(t, meter, &i)
		want[i.PrometheusName()] = i
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	got := map[string]bool{}
	for _, family := range families {
		got[family.GetName()] = true
		i := want[family.GetName()]
		labels := family.GetMetric()[0].GetLabel()
		require.Len(t, labels, len(i.Attributes), family.GetName())
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func record(t *testing.T, meter metric.Meter, i *metrics.Instrument) {
	t.Helper()
	var attributes []attribute.KeyValue
	for _, a := range i.Attributes {
		attributes = append(attributes, attribute.String(a.Name, "x"))
	}
	ctx, with := context.Background(), metric.WithAttributes(attributes...)
	unit, description := metric.WithUnit(i.Unit), metric.WithDescription(i.Description)
	switch i.Kind {
	case metrics.KindCounter:
		counter, err := meter.Int64Counter(i.Name, unit, description)
		require.NoError(t, err)
		counter.Add(ctx, 1, with)
	case metrics.KindUpDown:
		counter, err := meter.Int64UpDownCounter(i.Name, unit, description)
		require.NoError(t, err)
		counter.Add(ctx, 1, with)
	case metrics.KindHistogram:
		histogram, err := meter.Float64Histogram(i.Name, unit, description, metric.WithExplicitBucketBoundaries(i.Buckets...))
		require.NoError(t, err)
		histogram.Record(ctx, 1, with)
	case metrics.KindGauge:
		_, err := meter.Float64ObservableGauge(i.Name, unit, description,
			metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error { o.Observe(1, with); return nil }))
		require.NoError(t, err)
	case metrics.KindTotal:
		_, err := meter.Int64ObservableCounter(i.Name, unit, description,
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error { o.Observe(1, with); return nil }))
		require.NoError(t, err)
	}
}
