package metrics_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestSystem runs schedules over NATS and compares the metrics with what the schedules say about themselves. It is not parallel:
// other tests must not count into its metrics.
func TestSystem(t *testing.T) {
	s := newInstallation(t)
	require.NoError(t, metrics.Watch([]schedule.Key{{Namespace: "default", ID: "ticks"}}))
	defer func() { require.NoError(t, metrics.Watch(nil)) }()
	retry := &schedule.RetryPolicy{MaximumAttempts: 2, InitialInterval: schedule.Duration(10 * time.Millisecond)}
	s.create("ticks", time.Second, schedule.Action{Type: "succeeds", TaskQueue: "q"})
	s.create("overlaps", time.Second, schedule.Action{Type: "blocks", TaskQueue: "q"})
	s.create("fails", 1000*time.Hour, schedule.Action{Type: "fails", TaskQueue: "q", RetryPolicy: retry})
	s.create("waits", 1000*time.Hour, schedule.Action{Type: "succeeds", TaskQueue: "nobody"})
	s.trigger("fails")
	s.trigger("waits")
	_, err := s.client.Describe(t.Context(), "unknown")
	require.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
	s.eventually("two runs are over and one action is skipped", func(c collected) bool {
		return c.value(metrics.WatchedCompleted.Instrument) >= 2 &&
			c.value(metrics.Skipped.Instrument, "policy", "skip") >= 1
	})
	s.pause("ticks")
	s.pause("overlaps")
	close(s.release)

	s.requireRuns()
	s.requireQueues()
	s.requireOthers()
	requireCatalogued(t, s.collect())
}

func (s *installation) requireRuns() {
	s.Helper()
	s.eventually("what the metrics count is what the schedules count", func(c collected) bool {
		ticks, overlaps := s.info("ticks"), s.info("overlaps")
		started := int(ticks.ActionCount + overlaps.ActionCount)
		queue := []string{"namespace", "default", "task_queue", "q"}
		automatic, succeeded := append(queue, "source", "automatic"), append(queue, "status", "completed")
		return c.value(metrics.Started.Instrument, automatic...) == started &&
			c.value(metrics.WatchedStarted.Instrument, "schedule_id", "ticks") == int(ticks.ActionCount) &&
			c.value(metrics.Completed.Instrument, succeeded...) == started &&
			c.of(metrics.StartLatency.Instrument, queue...).count == started &&
			c.of(metrics.Lateness.Instrument, queue...).count == started &&
			c.of(metrics.CompletionLatency.Instrument, queue...).count == started &&
			c.of(metrics.RunDuration.Instrument, succeeded...).count == started &&
			c.value(metrics.Skipped.Instrument, "policy", "skip") == int(ticks.OverlapSkipped+overlaps.OverlapSkipped) &&
			c.value(metrics.Missed.Instrument) == int(ticks.MissedCatchupWindow+overlaps.MissedCatchupWindow) &&
			c.value(metrics.Dropped.Instrument) == int(ticks.BufferDropped+overlaps.BufferDropped)
	})
	s.eventually("the triggers are over", func(c collected) bool {
		return c.value(metrics.Started.Instrument, "source", "manual") == 2 &&
			c.value(metrics.Completed.Instrument, "status", "failed") == 1 &&
			c.value(metrics.WorkerAttempts.Instrument, "outcome", "retry") >= 1 &&
			c.value(metrics.WorkerAttempts.Instrument, "outcome", "failed") >= 1 &&
			c.value(metrics.WorkerRedelivered.Instrument) >= 1 &&
			c.value(metrics.RequestFinished.Instrument, "kind", "trigger", "outcome", "completed") == 2
	})
}

func (s *installation) requireQueues() {
	s.Helper()
	s.eventually("the backlog shows", func(c collected) bool {
		nobody := []string{"namespace", "default", "task_queue", "nobody"}
		return c.value(metrics.QueueWaiting.Instrument, nobody...) == 1 &&
			c.of(metrics.QueueOldest.Instrument, nobody...).value > 0 &&
			c.value(metrics.QueueServed.Instrument, nobody...) == 0 &&
			c.value(metrics.QueueServed.Instrument, "task_queue", "q") == 1 &&
			c.value(metrics.QueueWaiting.Instrument, "task_queue", "q") == 0 &&
			c.value(metrics.WorkerConnected.Instrument, "task_queue", "q") == 1
	})
}

func (s *installation) requireOthers() {
	s.Helper()
	c := s.collect()
	s.eventually("the index is up to date", func(now collected) bool {
		c = now
		return c.value(metrics.SearchReady.Instrument) == 1
	})
	// A request without an answer in time was sent again.
	assert.GreaterOrEqual(s, c.value(metrics.APIRequests.Instrument, "method", "schedule.create", "code", "ok"), 4)
	assert.GreaterOrEqual(s, c.of(metrics.APIDuration.Instrument, "method", "schedule.create").count, 4)
	assert.Positive(s, c.value(metrics.APIRequests.Instrument, "method", "schedule.describe", "code", "not_found"))
	assert.GreaterOrEqual(s, c.value(metrics.TimersArmed.Instrument, "kind", "guard"), 4, "one for each schedule that was created")
	assert.GreaterOrEqual(s, c.of(metrics.StateRecordSize.Instrument, "record", "definition").count, 4)
	assert.Positive(s, c.of(metrics.StateOperation.Instrument, "operation", "put", "outcome", "ok").count)
	assert.Positive(s, c.of(metrics.PoolTransition.Instrument, "pool", "invoker", "outcome", "done").count)
	assert.Positive(s, c.value(metrics.PoolMessages.Instrument, "pool", "generator", "outcome", "acked"))
	assert.Equal(s, 1, c.value(metrics.Connected.Instrument))
	assert.Positive(s, c.value(metrics.Bytes.Instrument, "direction", "receive"))
	assert.Equal(s, 1, c.value(metrics.JetStreamUp.Instrument))
	assert.Positive(s, c.of(metrics.StreamSize.Instrument, "stream", "KV_"+s.names.StateBucket(0)).value)
	assert.NotEmpty(s, c[metrics.ConsumerPending.Name])
}

// requireCatalogued checks that all series have the attributes and values of the catalogue.
func requireCatalogued(t *testing.T, c collected) {
	t.Helper()
	recorded := 0
	for _, i := range metrics.Catalogue() {
		for _, p := range c[i.Name] {
			if _, over := p.labels["otel.metric.overflow"]; over {
				continue
			}
			require.Len(t, p.labels, len(i.Attributes), i.Name)
			for _, a := range i.Attributes {
				value, is := p.labels[a.Name]
				require.True(t, is, "%s has no %s", i.Name, a.Name)
				require.True(t, a.Values == nil || slices.Contains(a.Values, value), "%s: %s is %q", i.Name, a.Name, value)
			}
		}
		if len(c[i.Name]) > 0 {
			recorded++
		}
	}
	t.Logf("%d of %d instruments have been recorded", recorded, len(metrics.Catalogue()))
}
