package taskqueue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// gauge is the state of one queue for the metrics.
type gauge struct {
	Queue
	waiting, held, pulls int
	oldest               time.Duration
	served               bool
}

// gauges returns the state of all queues, in no order.
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

// fold returns what to show: of each namespace the first queues by name, and the others as one, [metrics.OtherQueues]. That one
// has all their runs and the age of the oldest. It has no worker if one of them has runs and no worker.
func fold(all []gauge) []gauge {
	slices.SortFunc(all, func(a, b gauge) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	namespaces := 0
	for i := range all {
		if i == 0 || all[i].Namespace != all[i-1].Namespace {
			namespaces++
		}
	}
	limit := metrics.QueuesShown(namespaces)
	shown := make([]gauge, 0, min(len(all), namespaces*(limit+1)))
	named, others := 0, map[string]int{} // where the others of a namespace are in shown
	for i, g := range all {
		if i == 0 || g.Namespace != all[i-1].Namespace {
			named = 0
		}
		if named < limit && g.Name != metrics.OtherQueues {
			named++
			shown = append(shown, g)
			continue
		}
		at, is := others[g.Namespace]
		if !is {
			at = len(shown)
			others[g.Namespace] = at
			shown = append(shown, gauge{Queue: Queue{Namespace: g.Namespace, Name: metrics.OtherQueues}, served: true})
		}
		shown[at].add(g)
	}
	return shown
}

// add merges another queue into g.
func (g *gauge) add(other gauge) {
	g.waiting += other.waiting
	g.held += other.held
	g.pulls += other.pulls
	g.oldest = max(g.oldest, other.oldest)
	g.served = g.served && (other.served || other.waiting == 0)
}

// instruments shows the newest gauges whenever metrics are collected.
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
	i.newest = fold(newest)
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
