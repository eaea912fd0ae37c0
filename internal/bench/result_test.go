package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestQuantiles(t *testing.T) {
	t.Parallel()
	h := newHistogram()
	assert.Nil(t, h.quantiles())
	for ms := range 1000 {
		h.add(time.Duration(ms+1) * time.Millisecond)
	}
	h.add(-time.Second)
	h.add(100 * 24 * time.Hour)
	q := h.quantiles()
	assert.InEpsilon(t, 500, float64(q.P50), 0.01)
	assert.InEpsilon(t, 900, float64(q.P90), 0.01)
	assert.InEpsilon(t, 990, float64(q.P99), 0.01)
	assert.InEpsilon(t, 999, float64(q.P999), 0.01)
	assert.InEpsilon(t, 24*3600*1000, float64(q.Max), 0.01, "the longest there is")
}

// TestQuantilesAreThoseOfTheSorted compares with the plain way.
func TestQuantilesAreThoseOfTheSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(1, 10_000_000), 1, 200).Draw(t, "microseconds")
		h, most := newHistogram(), 0
		for _, v := range values {
			h.add(time.Duration(v) * time.Microsecond)
			most = max(most, v)
		}
		q := h.quantiles()
		require.InEpsilon(t, float64(most)/1000, float64(q.Max), 0.01)
		require.LessOrEqual(t, q.P50, q.P90)
		require.LessOrEqual(t, q.P90, q.P99)
		require.LessOrEqual(t, q.P999, q.Max)
	})
}

func TestTrafficForEachAction(t *testing.T) {
	t.Parallel()
	before := traffic{messages: map[string]uint64{"state": 100, "tasks": 7, "control": 5}}
	now := traffic{messages: map[string]uint64{"state": 140, "tasks": 27, "control": 5}}
	all, byStream := now.each(before, 10)
	assert.InDelta(t, 6, float64(all), 0.001)
	assert.Equal(t, map[string]Rate{"state": 4, "tasks": 2}, byStream)
	all, byStream = now.each(before, 0)
	assert.Zero(t, all)
	assert.Nil(t, byStream)
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := subjects.Default()
	assert.Equal(t, names.Event(schedule.Key{Namespace: "default", ID: "x"}, schedule.EventCompleted),
		strings.ReplaceAll(completedEvents(names.Events(schedule.Key{Namespace: "default"})), "*", "x"))
	kinds := streamKinds(names, 2)
	for _, config := range names.StreamConfigs(2, 1) {
		assert.Contains(t, kinds, config.Name)
	}
	for _, prefix := range []string{"carillon", "a", "abcdefghijklmnopqrs-tuvwxyz-12345"[:32]} {
		names, err := subjects.New(prefix)
		require.NoError(t, err)
		unique, err := uniqueNames(names)
		require.NoError(t, err)
		assert.Contains(t, unique.Prefix(), "-bench-")
	}
}

func sampleResult() *Result {
	return &Result{
		Scenario: "steady",
		Parameters: Parameters{
			Schedules: 1_000_000, Interval: Seconds(time.Second), Duration: Seconds(20 * time.Second), Overlap: "allow_all",
		},
		Environment: Environment{
			NATS: "embedded", NATSVersion: "2.15.2", Sync: "interval", Shards: 4, Replicas: 1, Concurrency: 100,
			Version: "1.2.3", Go: "go1.26", CPUs: 2,
		},
		Offered: 200, Completed: 199.95, Due: 4000, Started: 3999, Missed: 1, Doubled: 2, Early: 3,
		Lateness: &Quantiles{P50: 1.234, P90: 2, P99: 12.34, P999: 123.4, Max: 1234.5},
		Elapsed:  Seconds(20 * time.Second), CPU: Seconds(5 * time.Second), Cores: 0.25,
		PeakRSS: 100 << 20, RSS: 90 << 20, Disk: 50 << 20,
		Messages: 11, MessagesByStream: map[string]Rate{"state": 4, "tasks": 3, "events": 3, "dead_letters": 1},
		RecordWrites: 12, RecordBytes: 3 << 20,
		RawPuts:    50_000,
		Operations: map[string]Operation{"create": {Count: 3, PerS: 1.5, Errors: 1, Latency: &Quantiles{P50: 1, Max: 2}}},
		Times:      map[string]Seconds{"caught_up": Seconds(1500 * time.Millisecond)},
		Rates:      map[string]Rate{"best": 3000},
	}
}

func TestResultForPeople(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, sampleResult().Write(&out))
	golden.Equal(t, "result.txt", out.String())
}

func TestResultAsJSON(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(sampleResult(), "", "  ")
	require.NoError(t, err)
	golden.Equal(t, "result.json", string(text)+"\n")
	assert.NotContains(t, string(text), "e+", "numbers that any reader takes")
}

func TestOK(t *testing.T) {
	t.Parallel()
	assert.True(t, (&Result{Due: 1, Started: 1}).OK())
	assert.False(t, (&Result{Missed: 1}).OK())
	assert.False(t, (&Result{Doubled: 1}).OK())
	assert.False(t, (&Result{Early: 1}).OK())
	assert.False(t, (&Result{Unexpected: 1}).OK())
}
