package metrics

import (
	"context"
	"sync"
)

// begun has the namespaces whose series have begun.
var begun = struct {
	mu         sync.RWMutex
	namespaces map[string]struct{}
}{namespaces: map[string]struct{}{}}

// Begin makes the counters of unwanted events show 0 for a namespace, so that the first such event shows as an increase. It does
// so once, and does nothing while nobody collects them.
func Begin(ctx context.Context, namespace string) {
	if !Missed.counter.Enabled(ctx) {
		return
	}
	begun.mu.RLock()
	_, known := begun.namespaces[namespace]
	begun.mu.RUnlock()
	if known {
		return
	}
	begun.mu.Lock()
	begun.namespaces[namespace] = struct{}{}
	begun.mu.Unlock()
	for _, counter := range []*Counter{Missed, Dropped, Skipped} {
		for _, value := range counter.Attributes[1].Values {
			counter.Begin(ctx, namespace, value)
		}
	}
	PausedOnFailure.Begin(ctx, namespace)
	StartRetried.Begin(ctx, namespace)
}

// BeginPool does the same for a pool.
func BeginPool(ctx context.Context, pool string) {
	for _, outcome := range PoolMessages.Attributes[1].Values {
		PoolMessages.Begin(ctx, pool, outcome)
	}
	PoolRedelivered.Begin(ctx, pool)
	DeadLetters.Begin(ctx, pool)
}

// Begin makes a series show 0.
func (c *Counter) Begin(ctx context.Context, values ...string) {
	c.counter.Add(ctx, 0, c.series.with(values)...)
}
