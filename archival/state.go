package archival

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// state is how the work of a process goes, for metrics and for its record. It is safe for concurrent use.
type state struct {
	mu sync.Mutex
	// waits is since when the oldest run waits that is not archived; the zero time if none does.
	waits map[place]time.Time
	// left are the runs that were left behind.
	left map[place][]progress.Left
	// pauses are the namespaces that cannot be archived now.
	pauses map[string]pause
	// asking are the namespaces that this process archives; none if it does not have its turn.
	asking []string
}

// pause is a time for which nothing is archived of a namespace.
type pause struct {
	since, until time.Time
	next         time.Duration
	reason       string
}

func newState() *state {
	s := &state{}
	s.clear()
	return s
}

// clear is for a process that does not have its turn.
func (s *state) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits, s.left, s.pauses, s.asking = map[place]time.Time{}, map[place][]progress.Left{}, map[string]pause{}, nil
}

// archives notes which namespaces this process archives.
func (s *state) archives(asking []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = asking
}

// wait notes since when the oldest run waits, and which ones were left behind. The caller does not change those.
func (s *state) wait(at place, since time.Time, left []progress.Left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits[at], s.left[at] = since, left
}

// forget is for a namespace that asks for no archive any longer.
func (s *state) forget(at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, at)
	delete(s.left, at)
	delete(s.pauses, at.namespace)
}

// resume ends the pause of a namespace.
func (s *state) resume(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pauses, namespace)
}

// fail lets a namespace pause: first for the given time, then for twice as long each time.
func (s *state) fail(namespace string, now time.Time, first time.Duration, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pauses[namespace]
	if p.since.IsZero() {
		p.since, p.next = now, first
	}
	p.until, p.reason = now.Add(p.next), reason
	p.next = min(2*p.next, max(maxPause, first))
	s.pauses[namespace] = p
}

// isPaused reports whether a namespace pauses.
func (s *state) isPaused(namespace string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.pauses[namespace].until)
}

// status is what the process says about itself.
func (s *state) status(now time.Time) progress.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := progress.Status{At: now}
	for _, at := range slices.SortedFunc(maps.Keys(s.left), place.compare) {
		status.Left += len(s.left[at])
		for i := 0; i < len(s.left[at]) && len(status.Kept) < progress.MaxKept; i++ {
			status.Kept = append(status.Kept, progress.Kept{Namespace: at.namespace, Left: s.left[at][i]})
		}
	}
	for namespace, p := range s.pauses {
		status.Waiting = append(status.Waiting, progress.Waiting{Namespace: namespace, Since: p.since, Reason: p.reason})
	}
	slices.SortFunc(status.Waiting, func(a, b progress.Waiting) int { return strings.Compare(a.Namespace, b.Namespace) })
	return status
}

// lags returns for how long the oldest run of each namespace has been waiting.
func (s *state) lags(now time.Time) map[string]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]time.Duration{}
	for _, namespace := range s.asking {
		all[namespace] = 0
	}
	for at, since := range s.waits {
		if !since.IsZero() {
			all[at.namespace] = max(all[at.namespace], now.Sub(since))
		}
	}
	return all
}

// failing returns for how long each namespace could not be archived; 0 if it could.
func (s *state) failing(now time.Time) map[string]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]time.Duration{}
	for _, namespace := range s.asking {
		all[namespace] = 0
		if p, fails := s.pauses[namespace]; fails {
			all[namespace] = now.Sub(p.since)
		}
	}
	return all
}

// observe shows how long runs and namespaces have been waiting until the function is called that it returns.
func (s *state) observe(now func() time.Time) (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		for namespace, lag := range s.lags(now()) {
			o.Gauge(metrics.ArchiveLag, lag.Seconds(), namespace)
		}
		for namespace, since := range s.failing(now()) {
			o.Gauge(metrics.ArchiveFailing, since.Seconds(), namespace)
		}
	}, metrics.ArchiveLag, metrics.ArchiveFailing)
}
