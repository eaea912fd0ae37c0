package systemtest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/systemtest/powerloss"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// outage is what a power loss in the middle of work has left.
type outage struct {
	created, triggered []string // what was answered before
	found              map[string]bool
	ran                map[string]int // how often each has run
}

// TestPowerLoss kills the server and loses everything that it has not synced. With --sync always, the default, everything that
// was answered still exists afterwards, and everything that was to run has run once. With --sync interval something is missing,
// which shows that the disk of this test really loses data.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a while")
	}
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		o := losePower(t, "always")
		for _, id := range o.created {
			assert.True(t, o.found[id], "%s was created, and is gone", id)
		}
		for _, id := range o.triggered {
			assert.Equal(t, 1, o.ran[id], "runs of %s", id)
		}
	})
	t.Run("interval", func(t *testing.T) {
		t.Parallel()
		o := losePower(t, "interval")
		assert.Less(t, len(o.found), len(o.created), "nothing was lost")
	})
}

// losePower cuts the power while schedules are created and triggered, and looks at what exists when it is back.
func losePower(t *testing.T, syncs string) outage {
	disk := powerloss.New(t)
	port := strconv.Itoa(freePort(t))
	args := []string{"--port", port, "--sync", syncs, "--task-queue", "builtin"}
	before := newProcess(t, append([]string{"server", "--data", filepath.Join(disk.Dir, "data")}, args...)...)
	before.start()
	conn := connectWhenUp(t, "nats://127.0.0.1:"+port)
	s := &system{t: t, names: subjects.Default(), conn: conn}
	var err error
	s.client, err = client.New(conn, client.Config{Timeout: 30 * time.Second})
	require.NoError(t, err)
	runs := s.work(conn, "q", nil)

	o := outage{ran: map[string]int{}, found: map[string]bool{}}
	o.work(t, s, before.kill)
	after := newProcess(t, append([]string{"server", "--data", filepath.Join(disk.Cut(t), "data")}, args...)...)
	after.start()
	for _, id := range o.created {
		_, err := s.client.Describe(t.Context(), id)
		if schedule.CodeOf(err) != schedule.CodeNotFound {
			require.NoError(t, err)
			o.found[id] = true
		}
	}
	if syncs == "interval" {
		return o // nobody knows which of the remaining schedules are to run
	}
	natstest.Eventually(t, natstest.Patience, "all triggers have run", func() bool {
		for _, id := range o.created {
			o.ran[id] = len(runs.of(id))
		}
		return !slices.ContainsFunc(o.triggered, func(id string) bool { return o.ran[id] == 0 })
	})
	return o
}

// work creates and triggers schedules side by side, and cuts the power in the middle.
func (o *outage) work(t *testing.T, s *system, cut func()) {
	const writers, each = 4, 25
	var mu sync.Mutex
	var writing sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	note := func(to *[]string, id string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return
		}
		if *to = append(*to, id); len(o.triggered) == writers*each/2 {
			stop()
		}
	}
	for w := range writers {
		writing.Go(func() {
			for i := 0; i < each && ctx.Err() == nil; i++ {
				id := fmt.Sprintf("s-%d-%d", w, i)
				_, err := s.client.Create(ctx, schedule.CreateRequest{ID: id, Schedule: triggered(schedule.OverlapAllowAll)})
				note(&o.created, id, err)
				_, err = s.client.Trigger(ctx, schedule.TriggerRequest{ID: id})
				note(&o.triggered, id, err)
			}
		})
	}
	<-ctx.Done()
	cut()
	writing.Wait()
}
