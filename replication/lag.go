package replication

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/site"
)

// lag knows how far a standby is behind the other site. It is safe for concurrent use.
type lag struct {
	mu     sync.Mutex
	own    *site.Record
	peer   bool
	behind map[string]*behind
}

// behind is how far one mirror is behind its origin.
type behind struct {
	entries uint64
	// complete is when it was last known to have everything, or when it was first looked at.
	complete time.Time
}

// note takes note of the records of both sites. Only a standby has a lag.
func (l *lag) note(own, peer *site.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own, l.peer = own, peer != nil
	if own == nil || own.State != site.Standby {
		l.behind = nil
	}
}

// stream takes note of what NATS says about a mirror: how many entries it lacks, and when it last heard of its origin. It hears of it at least each second, also if there is
// nothing new. A mirror that lacks nothing had everything when it last heard.
func (l *lag) stream(name string, now time.Time, mirror *jetstream.StreamSourceInfo) {
	if mirror == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.behind == nil {
		l.behind = map[string]*behind{}
	}
	b := l.behind[name]
	if b == nil {
		b = &behind{complete: now}
		if l.own != nil && !l.own.Complete {
			b.complete = l.own.Since // it never had everything
		}
		l.behind[name] = b
	}
	if b.entries = mirror.Lag; b.entries > 0 || mirror.Active < 0 {
		return
	}
	if heard := now.Add(-mirror.Active); heard.After(b.complete) {
		b.complete = heard
	}
}

// now returns how long ago all mirrors had everything, and how many entries they lack. It is ok at a standby whose mirrors have been looked at.
func (l *lag) now(now time.Time) (age time.Duration, entries uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.behind {
		age, entries = max(age, now.Sub(b.complete)), entries+b.entries
	}
	return age, entries, len(l.behind) > 0
}

// observe records the metrics until stop is called.
func (l *lag) observe(now func() time.Time) (stop func()) {
	return metrics.Observe(func(_ context.Context, to metrics.Observer) {
		l.mu.Lock()
		own, peer := l.own, l.peer
		l.mu.Unlock()
		if own == nil {
			return
		}
		to.Gauge(metrics.SiteState, 1, string(own.State))
		to.Gauge(metrics.SiteTerm, float64(own.Term))
		to.Bool(metrics.SitePeer, peer)
		if age, entries, ok := l.now(now()); ok {
			to.Gauge(metrics.ReplicationLag, age.Seconds())
			to.Gauge(metrics.ReplicationLagEntries, float64(entries))
		}
	}, metrics.SiteState, metrics.SiteTerm, metrics.SitePeer, metrics.ReplicationLag, metrics.ReplicationLagEntries)
}
