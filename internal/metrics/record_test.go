package metrics_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRecordingAllocatesNothing is not parallel: allocations are counted for the whole process.
func TestRecordingAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for name, record := range map[string]func(){
		"counter":   func() { metrics.Started.Add(ctx, 1, "allocations", "q", metrics.SourceAutomatic) },
		"up-down":   func() { metrics.WorkerExecuting.Add(ctx, 1, "allocations", "q") },
		"histogram": func() { metrics.Lateness.RecordTime(ctx, 1, "allocations", "q") },
	} {
		record() // the first call makes the attributes
		assert.Zero(t, testing.AllocsPerRun(1000, record), name)
	}
}

func TestValuesBelongToAttributesInTheirOrder(t *testing.T) {
	t.Parallel()
	collect := since(t)
	metrics.Completed.Add(t.Context(), 3, "order", "reports", "failed")
	metrics.Completed.Add(t.Context(), 0, "order", "none", "failed")
	found := collect()
	assert.Equal(t, 3, found.value(metrics.Completed.Instrument, "namespace", "order"))
	assert.Equal(t, 3, found.value(metrics.Completed.Instrument, "task_queue", "reports", "status", "failed", "namespace", "order"))
}

func TestATimeThatIsNegativeIsNone(t *testing.T) {
	t.Parallel()
	collect := since(t)
	metrics.HandOverLatency.RecordTime(t.Context(), -1, "clocks")
	latency := collect().of(metrics.HandOverLatency.Instrument, "namespace", "clocks")
	assert.Equal(t, 1, latency.count)
	assert.Zero(t, latency.value)
}

// TestManyValues: the number of remembered combinations is bounded.
func TestManyValues(t *testing.T) {
	t.Parallel()
	collect := since(t)
	for i := range 10_000 {
		metrics.Frozen.Add(t.Context(), 1, "many-"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))
	}
	assert.Equal(t, 10_000, collect().value(metrics.Frozen.Instrument))
}

// TestBegin: an alert that waits for an increase sees the first event only if there was a series before.
func TestBegin(t *testing.T) {
	t.Parallel()
	metrics.Begin(t.Context(), "begun")
	metrics.Begin(t.Context(), "begun")
	reasons := 0
	for _, p := range collect(t)[metrics.Missed.Name] {
		if p.labels["namespace"] == "begun" {
			assert.Zero(t, p.value)
			reasons++
		}
	}
	assert.Equal(t, 2, reasons)
}

// TestWatch is not parallel: the whole process has one set of watched schedules.
func TestWatch(t *testing.T) {
	defer func() { require.NoError(t, metrics.Watch(nil)) }()
	a, b := schedule.Key{Namespace: "default", ID: "a"}, schedule.Key{Namespace: "default", ID: "b"}
	assert.False(t, metrics.IsWatched(a))
	require.NoError(t, metrics.Watch([]schedule.Key{a}))
	assert.True(t, metrics.IsWatched(a))
	assert.False(t, metrics.IsWatched(b))
	require.ErrorContains(t, metrics.Watch(make([]schedule.Key, metrics.MaxWatched+1)), "at most 100")
	assert.True(t, metrics.IsWatched(a))
	require.NoError(t, metrics.Watch([]schedule.Key{b}))
	assert.False(t, metrics.IsWatched(a))
}
