package taskqueue

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// gauge is how one queue is, for the metrics.
type gauge struct {
	Queue
	waiting, held, pulls int
	oldest               time.Duration
	served               bool
}

// gauges returns how all queues are, in no order.
func (t *tracker) gauges() []gauge {
	all := make([]gauge, 0, len(t.queues))
	for name, queue := range t.queues {
		count, run := queue.waiting()
		g := gauge{
			Queue: name, waiting: count, held: queue.last.Held, pulls: queue.last.Pulls, served: queue.unserved.IsZero(),
		}
		if run != nil {
			g.oldest = max(0, queue.at.Sub(run.Since))
		}
		all = append(all, g)
	}
	return all
}

// instruments show the newest gauges whenever metrics are collected.
type instruments struct {
	mu     sync.Mutex
	newest []gauge
	close  func()
}

func newInstruments() *instruments {
	i := &instruments{}
	i.close = metrics.Observe(i.observe, metrics.QueueWaiting, metrics.QueueOldest, metrics.QueueServed, metrics.QueueHeld,
		metrics.QueuePulls)
	return i
}

func (i *instruments) set(newest []gauge) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.newest = newest
}

func (i *instruments) observe(_ context.Context, o metrics.Observer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, g := range i.newest {
		o.Gauge(metrics.QueueWaiting, float64(g.waiting), g.Namespace, g.Name)
		o.Gauge(metrics.QueueOldest, g.oldest.Seconds(), g.Namespace, g.Name)
		o.Bool(metrics.QueueServed, g.served, g.Namespace, g.Name)
		o.Gauge(metrics.QueueHeld, float64(g.held), g.Namespace, g.Name)
		o.Gauge(metrics.QueuePulls, float64(g.pulls), g.Namespace, g.Name)
	}
}
