package loop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestStopGivesBackAtOnce: what is held and what waits comes to another loop, what runs is finished.
func TestStopGivesBackAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	config := b.config()
	config.Concurrency, config.DrainTimeout = 1, time.Minute
	var first, second journal
	release := make(chan struct{})
	stop := b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		first.add(key, group)
		if key.ID == "held" {
			return Hold(time.Now().Add(time.Hour))
		}
		<-release
		return Done()
	})
	b.publish("held", "0")
	first.await(t, 1)
	b.publish("running", "0")
	first.await(t, 2)
	for i := range 300 { // more than wait in the client
		b.publish(fmt.Sprint("waiting-", i), "0")
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()

	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		second.add(key, group)
		return Done()
	})
	calls := second.await(t, 301)
	ids := map[string]int{}
	for _, c := range calls {
		ids[c.id] += len(c.bodies)
	}
	require.Len(t, ids, 301)
	require.Equal(t, 1, ids["held"])
	require.Zero(t, ids["running"])
	select {
	case <-stopped:
		t.Fatal("the stop did not wait for the group in progress")
	default:
	}
	close(release)
	<-stopped
	b.awaitEmpty()
	require.Len(t, first.all(), 2)
	require.Len(t, second.all(), 301)
}

func TestDrainTimeoutEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	config := b.config()
	config.DrainTimeout = 50 * time.Millisecond
	var first, second journal
	stop := b.run(config, func(ctx context.Context, key schedule.Key, group []Message[string]) Verdict {
		first.add(key, group)
		<-ctx.Done()
		return Retry(ctx.Err())
	})
	b.publish("a", "0")
	first.await(t, 1)
	stop()
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		second.add(key, group)
		return Done()
	})
	second.await(t, 1)
	b.awaitEmpty()
}

// TestNothingIsLostByRestarts starts and stops loops under load. Since nothing comes again but what was given back, a
// message lost in a client would never be handled.
func TestNothingIsLostByRestarts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	const all = 2000
	var mu sync.Mutex
	seen, repeats := map[string]bool{}, 0
	handle := func(ctx context.Context, key schedule.Key, group []Message[string]) Verdict {
		_ = sleep.For(ctx, 2*time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		for _, m := range group {
			name := key.ID + "/" + m.Body
			if seen[name] && m.Deliveries > 1 { // else it was held meanwhile
				repeats++
			}
			seen[name] = true
		}
		if len(seen)%7 == 0 {
			return Hold(time.Now().Add(5 * time.Millisecond))
		}
		return Done()
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(seen) }
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for i := range all {
			msg := b.names.Generate(0, keyOf(fmt.Sprint(i%500)), fmt.Sprint(i))
			_, err := b.js.Publish(context.WithoutCancel(t.Context()), msg, []byte(fmt.Sprint(i)))
			assert.NoError(t, err)
		}
	})
	config := b.config()
	config.Concurrency, config.MaxInFlight = 16, 400
	b.run(config, handle) // one that stays, so that two compete
	for round := 1; round < 12; round++ {
		stop := b.run(config, handle)
		target := min(all, round*all/12)
		natstest.Eventually(t, patience, "some more are handled", func() bool { return count() >= target })
		stop()
	}
	publishing.Wait()
	b.awaitEmpty()
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, seen, all)
	t.Logf("%d of %d messages were handled by two loops", repeats, all)
	require.Less(t, repeats, all/10)
}

func TestClosedConnectionEndsTheLoop(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, js := natstest.Connect(t, natstest.Shared(t))
	config := b.config()
	config.Bus = natstest.Bus(t, js)
	l := New(config, handlerFunc(func(context.Context, schedule.Key, []Message[string]) Verdict { return Done() }))
	done := make(chan error, 1)
	go func() { done <- l.Run(t.Context()) }()
	natstest.Eventually(t, patience, "the loop pulls", func() bool {
		c, err := b.js.Consumer(t.Context(), b.names.TaskStream(0), config.Pool)
		return err == nil && c.CachedInfo().NumWaiting > 0
	})
	conn.Close()
	require.ErrorContains(t, <-done, "pull generator of stream")
	requireReleased(t, l)
}

func TestConsumerDeletedUnderneath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Done()
	})
	b.publish("a", "0")
	j.await(t, 1)
	b.awaitEmpty()
	require.NoError(t, b.js.DeleteConsumer(t.Context(), b.names.TaskStream(0), b.config().Pool))
	b.publish("a", "1")
	b.ensure(1)
	j.await(t, 2)
	b.awaitEmpty()
}

// TestServerRestart kills the server while messages are held, waits and handled.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	node := natstest.Cluster(t, 1)
	_, js := natstest.Connect(t, node.URLs())
	b := setupOn(t, js, 1)
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		calls := j.add(key, group)
		if key.ID == "held" && calls < 5 {
			return Hold(time.Now().Add(time.Second))
		}
		return Done()
	})
	b.publish("held", "0")
	b.publish("a", "0")
	j.await(t, 2)
	node.Kill(0)
	node.Restart(0)
	natstest.Eventually(t, patience, "NATS takes messages again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := js.Publish(ctx, b.names.Generate(0, keyOf("a"), "1"), []byte("1"))
		return err == nil
	})
	b.awaitEmpty()
}

// TestStopWhileNATSIsAway: a stop ends although nobody is there to give messages back to.
func TestStopWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	node := natstest.Cluster(t, 1)
	conn, js := natstest.Connect(t, node.URLs())
	b := setupOn(t, js, 1)
	var j journal
	stop := b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Hold(time.Now().Add(time.Hour))
	})
	b.publish("a", "0")
	j.await(t, 1)
	node.Kill(0)
	natstest.Eventually(t, patience, "the connection is lost", func() bool { return !conn.IsConnected() })
	begin := time.Now()
	stop()
	t.Logf("stopped after %v", time.Since(begin))
}

// TestLoopWaitsForItsStream, which may be created by another process a little later.
func TestLoopWaitsForItsStream(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	b := &testBundle{T: t, js: js, names: natstest.Names(t)}
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Done()
	})
	_, err := topology.Ensure(t.Context(), js, b.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	b.publish("a", "0")
	j.await(t, 1)
}
