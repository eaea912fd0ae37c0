package search_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
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

// TestAwaitDoesNotRest: after a change the index waits a moment for more, but not while a caller waits for it.
func TestAwaitDoesNotRest(t *testing.T) {
	t.Parallel()
	in := install(t)
	config := in.config()
	config.Interval = time.Hour
	index, _ := run(t, config)
	natstest.Eventually(t, patience, "the index is built", func() bool { return index.Await(t.Context(), patience) })
	soonest := time.Hour
	for i := range 20 {
		begin := time.Now()
		in.define("a", func(d *wire.Definition) { d.Version = uint64(i + 1) })
		require.True(t, index.Await(t.Context(), patience))
		soonest = min(soonest, time.Since(begin))
	}
	assert.Less(t, soonest, search.Settle)
}
