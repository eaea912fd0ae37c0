package matching

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// agesEvery is in which rounds the ages of the backlogs are looked at: they cost a request for each queue.
const agesEvery = 3

// gauge is the backlog of one queue for the metrics.
type gauge struct {
	offer.Queue
	tasks uint64
	since time.Time // zero if it is not known
	// polled says whether any worker polls the queue; nil if that is not known.
	polled *bool
}

// fold returns what to show: of each namespace and kind the first queues by name, and the others as one, [metrics.OtherQueues].
func fold(contents map[offer.Queue]content) []gauge {
	all := make([]gauge, 0, len(contents))
	namespaces := map[string]struct{}{}
	for q, has := range contents {
		namespaces[q.Namespace] = struct{}{}
		all = append(all, gauge{Queue: q, tasks: has.tasks})
	}
	slices.SortFunc(all, func(a, b gauge) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	limit := max(1, metrics.QueuesShown(len(namespaces))/2)
	var shown []gauge
	named, other := 0, -1
	for i, g := range all {
		if i == 0 || g.Namespace != all[i-1].Namespace || g.Kind != all[i-1].Kind {
			named, other = 0, -1
		}
		switch {
		case named < limit && g.Name != metrics.OtherQueues:
			named++
			shown = append(shown, g)
		case other < 0:
			other = len(shown)
			g.Name = metrics.OtherQueues
			shown = append(shown, g)
		default:
			shown[other].tasks += g.tasks
		}
	}
	return shown
}

// gauges shows the newest state whenever metrics are collected.
type gauges struct {
	mu     sync.Mutex
	newest []gauge
	at     time.Time
}

// show begins to show, until the function that it returns is called.
func (g *gauges) show() (end func()) {
	return metrics.Observe(g.observe, metrics.BacklogTasks, metrics.BacklogAge, metrics.BacklogPolled)
}

// show shows the numbers of tasks. In some rounds it looks since when they have waited, too, and whether anybody polls.
func (m *Matching) show(ctx context.Context, contents map[offer.Queue]content, round int) {
	g, now := m.gauges, m.config.Now()
	newest, known := fold(contents), map[offer.Queue]gauge{}
	g.mu.Lock()
	for _, one := range g.newest {
		known[one.Queue] = one
	}
	g.mu.Unlock()
	for i := range newest {
		one := &newest[i]
		one.since, one.polled = known[one.Queue].since, known[one.Queue].polled
		if round%agesEvery == 0 && one.Name != metrics.OtherQueues {
			one.since, _ = m.backlog.oldest(ctx, one.Queue, contents[one.Queue].priorities) // unknown until the next round
			one.polled = nil
			if polled, err := m.offers.Polled(ctx, one.Queue); err == nil {
				one.polled = &polled
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.newest, g.at = newest, now
}

func (g *gauges) observe(_ context.Context, o metrics.Observer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.newest {
		o.Gauge(metrics.BacklogTasks, float64(one.tasks), one.Namespace, string(one.Kind), one.Name)
		if !one.since.IsZero() {
			o.Gauge(metrics.BacklogAge, max(0, g.at.Sub(one.since)).Seconds(), one.Namespace, string(one.Kind), one.Name)
		}
		if one.polled != nil {
			o.Bool(metrics.BacklogPolled, *one.polled, one.Namespace, string(one.Kind), one.Name)
		}
	}
}
