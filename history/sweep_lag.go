package history

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// expiries is when the oldest ended run expires of each shard of which this process removes the runs, as far as it knows; the zero time if it knows of
// none. It is safe for concurrent use.
type expiries struct {
	mu      sync.Mutex
	ofShard map[int]time.Time
}

func (e *expiries) set(shard int, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ofShard == nil {
		e.ofShard = map[int]time.Time{}
	}
	e.ofShard[shard] = at
}

// forget is for a shard of which another process removes the runs.
func (e *expiries) forget(shard int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ofShard, shard)
}

// lag returns for how long a run has been there that has expired; 0 if there is none. It reports false if this process removes no runs.
func (e *expiries) lag(now time.Time) (lag time.Duration, any bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, at := range e.ofShard {
		if !at.IsZero() {
			lag = max(lag, now.Sub(at))
		}
	}
	return lag, len(e.ofShard) > 0
}

// observeLag shows how far removal is behind until stop is called.
func (s *Service) observeLag() (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		if lag, any := s.expiries.lag(s.config.Now()); any {
			o.Gauge(metrics.HistoryRetentionLag, lag.Seconds())
		}
	}, metrics.HistoryRetentionLag)
}

// earliest returns the earliest of some times that are not zero; the zero time if all are.
func earliest(times ...time.Time) (first time.Time) {
	for _, at := range times {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
