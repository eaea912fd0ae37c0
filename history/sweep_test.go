package history

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// dying is NATS for a process that dies after some removals. begun is closed with the first.
type dying struct {
	bus.Streams
	begun chan struct{}
	first sync.Once
	left  atomic.Int64
	die   func()
}

func (d *dying) Remove(ctx context.Context, stream string, sequence uint64) error {
	d.first.Do(func() { close(d.begun) })
	if d.left.Add(-1) == 0 {
		d.die()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.Streams.Remove(ctx, stream, sequence)
}

// TestTwoProcessesRemove: two processes remove the same runs at the same time, since each takes the shards for its own, and one of them dies in the midst.
// The other one removes all that has expired, and a run in progress stays.
func TestTwoProcessesRemove(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	const runs = 20
	for id := range runs {
		b.expireRun(fmt.Sprint("w", id))
	}
	ctx, die := context.WithCancel(t.Context())
	defer die()
	first := &dying{Streams: natstest.Bus(t, b.js), begun: make(chan struct{}), die: die}
	first.left.Store(runs)
	idle := func(config *Config) { config.Now, config.SweepEvery = c.now, time.Hour }
	one, _ := b.run(idle, func(config *Config) { config.Bus = first })
	two, _ := b.run(idle)
	open := b.start("open")
	b.settled()
	var both sync.WaitGroup
	for shard := range b.facts.Shards {
		both.Go(func() { _, _ = newSweeper(one, shard).round(ctx) })
		both.Go(func() {
			<-first.begun
			_, err := newSweeper(two, shard).round(t.Context())
			require.NoError(t, err)
		})
	}
	both.Wait()
	require.Error(t, ctx.Err(), "the first one has died")
	for id := range runs {
		require.Empty(t, b.stored(fmt.Sprint("w", id)))
	}
	require.NotEmpty(t, b.events("open", open, 0))
}

// expireRun stores a run that has ended long ago.
func (b *bundle) expireRun(id string) {
	b.Helper()
	at := time.Now().Add(-2 * schedule.DefaultWorkflowRetention)
	for n := range benchEntries {
		m := b.expiredEntry(0, n, at)
		m.Subject = b.names.Journal(subjects.ShardOf(b.key(id), b.facts.Shards), b.key(id))
		require.NoError(b, natstest.Bus(b, b.js).Publish(b.Context(), m))
	}
}
