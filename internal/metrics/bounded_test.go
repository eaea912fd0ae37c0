package metrics_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// TestManyQueues: a client that may start runs on any task queue makes no more series than a namespace may have. The sums stay
// right, one namespace takes nothing from another, and a queue has one name in all instruments.
func TestManyQueues(t *testing.T) {
	t.Parallel()
	const queues = 1500
	collect := since(t)
	metrics.Started.Add(t.Context(), 1, "beside-many", "first", metrics.SourceAutomatic)
	for i := range queues {
		queue := fmt.Sprint("queue-", i)
		metrics.Started.Add(t.Context(), 2, "many-queues", queue, metrics.SourceAutomatic)
		metrics.WorkerExecuting.Add(t.Context(), 1, "many-queues", queue)
		metrics.Lateness.Record(t.Context(), 3, "many-queues", queue)
	}
	for i := range queues {
		metrics.WorkerExecuting.Add(t.Context(), -1, "many-queues", fmt.Sprint("queue-", i))
	}
	metrics.Started.Add(t.Context(), 1, "beside-many", "last", metrics.SourceAutomatic)
	found := collect()

	many := []string{"namespace", "many-queues"}
	rest := append(many, "task_queue", metrics.OtherQueues)
	for _, i := range []metrics.Instrument{metrics.Started.Instrument, metrics.WorkerExecuting.Instrument, metrics.Lateness.Instrument} {
		series := 0
		for _, p := range found[i.Name] {
			if p.labels["namespace"] == "many-queues" {
				series++
			}
		}
		assert.Equal(t, metrics.QueuesOfNamespace+1, series, i.Name)
	}
	assert.Equal(t, 2*queues, found.value(metrics.Started.Instrument, many...))
	assert.Equal(t, 2*(queues-metrics.QueuesOfNamespace), found.value(metrics.Started.Instrument, rest...))
	assert.Equal(t, 2, found.value(metrics.Started.Instrument, append(many, "task_queue", "queue-99")...))
	assert.Equal(t, queues, found.of(metrics.Lateness.Instrument, many...).count)
	for _, p := range found[metrics.WorkerExecuting.Name] {
		if p.labels["namespace"] == "many-queues" {
			assert.Zero(t, p.value, p.labels) // what comes and goes is subtracted where it was added
		}
	}
	for _, queue := range []string{"first", "last"} {
		assert.Equal(t, 1, found.value(metrics.Started.Instrument, "namespace", "beside-many", "task_queue", queue))
	}
}
