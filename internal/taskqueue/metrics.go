package taskqueue

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// gauge is how one queue is, for the metrics.
type gauge struct {
	Queue
	waiting int
	oldest  time.Duration
	served  bool
}

// gauges returns how all queues are, in no order.
func (t *tracker) gauges() []gauge {
	all := make([]gauge, 0, len(t.queues))
	for name, queue := range t.queues {
		count, run := queue.waiting()
		g := gauge{Queue: name, waiting: count, served: queue.unserved.IsZero()}
		if run != nil {
			g.oldest = max(0, queue.at.Sub(run.Since))
		}
		all = append(all, g)
	}
	return all
}

// instruments show the newest gauges whenever metrics are collected. They do nothing until the process sets a meter
// provider.
type instruments struct {
	mu     sync.Mutex
	newest []gauge

	waiting, workers metric.Int64ObservableGauge
	oldest           metric.Float64ObservableGauge
	registration     metric.Registration
}

func newInstruments() *instruments {
	i := &instruments{}
	meter := otel.Meter("github.com/carillon-scheduler/carillon/internal/taskqueue")
	// The instruments are usable even where their creation reports an error.
	i.waiting, _ = meter.Int64ObservableGauge("carillon.taskqueue.waiting", metric.WithUnit("{run}"),
		metric.WithDescription("Runs that wait for a worker of a task queue."))
	i.oldest, _ = meter.Float64ObservableGauge("carillon.taskqueue.oldest_age", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest of those runs has waited."))
	i.workers, _ = meter.Int64ObservableGauge("carillon.taskqueue.served", metric.WithUnit("1"),
		metric.WithDescription("1 where a task queue has a worker, 0 where it has none."))
	i.registration, _ = meter.RegisterCallback(i.observe, i.waiting, i.oldest, i.workers)
	return i
}

func (i *instruments) set(newest []gauge) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.newest = newest
}

func (i *instruments) observe(_ context.Context, to metric.Observer) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, g := range i.newest {
		queue := metric.WithAttributes(
			attribute.String("namespace", g.Namespace), attribute.String("task_queue", g.Name))
		to.ObserveInt64(i.waiting, int64(g.waiting), queue)
		to.ObserveFloat64(i.oldest, g.oldest.Seconds(), queue)
		served := int64(0)
		if g.served {
			served = 1
		}
		to.ObserveInt64(i.workers, served, queue)
	}
	return nil
}

func (i *instruments) close() {
	if i.registration != nil {
		_ = i.registration.Unregister() // it cannot be registered any more than that
	}
}
