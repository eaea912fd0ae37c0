package search_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestChangesShow follows a schedule through its life.
func TestChangesShow(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.define("before", paused)
	index, _ := run(t, in.config())
	eventually(t, index, "paused = true", "before")

	in.define("a", attribute("customer", `"acme"`))
	eventually(t, index, "attr.customer = 'acme'", "a")
	eventually(t, index, "nextTime is null and running = 0", "a", "before")

	put(in, kv.Generator(key("a")), &wire.GeneratorState{Incarnation: "one", Next: noon.Add(time.Hour)})
	eventually(t, index, "nextTime = '2026-06-01T13:00:00Z'", "a")
	put(in, kv.Invoker(key("a")), &wire.InvokerState{Incarnation: "one", Starts: []wire.BufferedStart{
		{Phase: schedule.PhaseCompleted, Status: schedule.StatusFailed, CloseTime: noon},
		{Phase: schedule.PhaseStarted}, {Phase: schedule.PhaseDeferred}, {Phase: schedule.PhaseReady},
	}})
	eventually(t, index, "lastStatus = 'failed' and lastTime = '2026-06-01T12:00:00Z' and running = 1 and waiting = 2", "a")

	in.define("a", paused)
	eventually(t, index, "paused = true order by id desc", "before", "a")
	eventually(t, index, "attr.customer is not null")
	remove(in, kv.Definition(key("a")))
	eventually(t, index, "", "before")

	in.define("a", func(d *wire.Definition) { d.Incarnation = "two" })
	eventually(t, index, "nextTime is null and lastStatus is null and running = 0", "a", "before")
	remove(in, kv.Definition(key("a")))
	remove(in, kv.Generator(key("a")))
	remove(in, kv.Invoker(key("a")))
	eventually(t, index, "id is not null", "before")
}

// seldom runs an index that reads only for queries, and waits until it is built.
func (in *installation) seldom() *search.Index {
	in.t.Helper()
	config := in.config()
	config.Interval = time.Hour
	index, _ := run(in.t, config)
	natstest.Eventually(in.t, patience, "the index is built", func() bool { return index.Await(in.t.Context(), patience) })
	return index
}

// TestAwaitIsEnough: after a change and Await, the index has the change, also if many wait at once.
func TestAwaitIsEnough(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	for i := range 200 {
		id := fmt.Sprint("s", i%10)
		in.define(id, func(d *wire.Definition) { d.Schedule.Action.TaskQueue = fmt.Sprint(i) })
		var waiting sync.WaitGroup
		for range 1 + i%3 {
			waiting.Go(func() {
				assert.True(t, index.Await(t.Context(), patience))
				ids, err := find(t, index, fmt.Sprintf("taskQueue = '%d'", i))
				assert.NoError(t, err)
				assert.Equal(t, []string{id}, ids)
			})
		}
		waiting.Wait()
	}
	remove(in, kv.Definition(key("s3")))
	require.True(t, index.Await(t.Context(), patience))
	ids, err := find(t, index, "id <= 's3'")
	require.NoError(t, err)
	require.Equal(t, []string{"s0", "s1", "s2"}, ids)
}

// TestAwaitManyChanges writes more definitions than the index reads at once.
func TestAwaitManyChanges(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.fill(400)
	natstest.Eventually(t, patience, "the index has caught up", func() bool { return index.Await(t.Context(), patience) })
	count, _, err := index.Count(t.Context(), "default", "", &query.Query{})
	require.NoError(t, err)
	require.Equal(t, 400, count)
}

// TestAwaitWithoutLeader: nobody answers for a bucket. Queries are told that, and answered.
func TestAwaitWithoutLeader(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.define("a")
	index := in.seldom()
	require.NoError(t, in.js.DeleteKeyValue(t.Context(), in.names.StateBucket(0)))
	require.False(t, index.Await(t.Context(), patience))
	ids, err := find(t, index, "")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids)
}

// BenchmarkAwait measures what it costs a query to see the latest changes: when there are none, and when there is one.
func BenchmarkAwait(b *testing.B) {
	in := install(b)
	in.fill(many)
	index := in.seldom()
	wait := func(b *testing.B) { require.True(b, index.Await(b.Context(), patience)) }
	b.Run("idle", func(b *testing.B) {
		for b.Loop() {
			wait(b)
		}
	})
	b.Run("32 queries at once", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				assert.True(b, index.Await(b.Context(), patience))
			}
		})
	})
	b.Run("after a change", func(b *testing.B) {
		n := uint64(0)
		for b.Loop() {
			b.StopTimer()
			n++
			in.define("a", func(d *wire.Definition) { d.Version = n })
			b.StartTimer()
			wait(b)
		}
	})
	in.write(20_000)
	b.Run("20,000 writes of the pools behind", func(b *testing.B) {
		for b.Loop() {
			wait(b)
		}
	})
}

// write writes as the pools do.
func (in *installation) write(n int) {
	in.t.Helper()
	for i := range n {
		d := benchDefinition(i % many)
		data, err := codec.Marshal(&wire.GeneratorState{Incarnation: d.Incarnation, Next: noon})
		require.NoError(in.t, err)
		subject := subjects.BucketSubject(in.names.StateBucket(in.store.ShardOf(d.Key())), kv.Generator(d.Key()).String())
		_, err = in.js.PublishAsync(subject, data)
		require.NoError(in.t, err)
	}
	<-in.js.PublishAsyncComplete()
}
