package systemtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// TestKillTheServerInTheMiddleOfRequests kills the whole server again and again while backfills go on, triggers are sent and
// patches are applied. A caller without an answer repeats the request under the same request ID. Everything that was asked for
// must run exactly once, and the history must add up to the counters.
func TestKillTheServerInTheMiddleOfRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	t.Parallel()
	port := freePort(t)
	server := newProcess(t, "server", "--data", t.TempDir(), "--port", strconv.Itoa(port), "--task-queue", "builtin")
	server.start()
	conn := connectWhenUp(t, "nats://127.0.0.1:"+strconv.Itoa(port))
	s := &system{t: t, names: subjects.Default(), conn: conn}
	var err error
	s.client, err = client.New(conn, client.Config{Timeout: 30 * time.Second})
	require.NoError(t, err)
	runs := s.work(conn, "q", func(ctx context.Context, _ *worker.Run) (any, error) {
		wait(ctx, 20*time.Millisecond) // so that a backfill outlives some kills
		return nil, nil
	})

	const parallel, oneByOne, triggers, patches, rangeOfPatch = 400, 200, 60, 30, 5
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ids := []string{"parallel", "one-by-one", "triggered", "patched"}
	s.create("parallel", minutely())
	s.create("one-by-one", minutely())
	s.create("triggered", triggered(schedule.OverlapAllowAll))
	s.create("patched", monthly())
	s.backfill("parallel", from, parallel, schedule.OverlapAllowAll)
	s.backfill("one-by-one", from, oneByOne, schedule.OverlapBufferAll)

	group, ctx := errgroup.WithContext(t.Context())
	group.Go(func() error {
		for i := range triggers {
			request := schedule.TriggerRequest{ID: "triggered", RequestID: fmt.Sprintf("trigger-%d", i)}
			if err := untilAnswered(ctx, func() error { _, err := s.client.Trigger(ctx, request); return err }); err != nil {
				return fmt.Errorf("trigger %d: %w", i, err)
			}
			wait(ctx, 100*time.Millisecond)
		}
		return nil
	})
	group.Go(func() error {
		for i := range patches {
			request := patchOf(i, rangeOfPatch)
			if err := untilAnswered(ctx, func() error { _, err := s.client.Patch(ctx, request); return err }); err != nil {
				return fmt.Errorf("patch %d: %w", i, err)
			}
			wait(ctx, 200*time.Millisecond)
		}
		return nil
	})
	random := rand.New(rand.NewPCG(3, 4))
	const kills = 4
	for range kills {
		wait(t.Context(), 500*time.Millisecond+time.Duration(random.IntN(700))*time.Millisecond)
		server.kill()
		server.start()
	}
	require.NoError(t, group.Wait())
	for _, id := range ids {
		s.awaitBackfills(id, patience)
	}
	requireEachOnce(t, runs.of("parallel"), from, parallel)
	requireEachOnce(t, runs.of("one-by-one"), from, oneByOne)
	for id, want := range map[string]int{"triggered": triggers, "patched": patches * (1 + rangeOfPatch)} {
		assert.Empty(t, moreThanOnce(runs.of(id)), id)
		assert.Len(t, runs.of(id), want, id)
	}
	patched := s.describe("patched")
	assert.Equal(t, (patches-1)%2 == 0, patched.State.Paused, "as the last patch said")
	assert.Len(t, patched.Info.Skips, patches, "each patch skips one time more")
	for _, id := range ids {
		info := s.describe(id).Info
		assert.EqualValues(t, len(runs.of(id)), info.ActionCount, id)
		assert.Zero(t, info.MissedCatchupWindow+info.OverlapSkipped+info.BufferDropped, id)
		s.requireCountersFromEvents(id)
	}
}

// monthly is due when a month begins, so that nothing is due by itself during a test.
func monthly() schedule.Schedule {
	sched := triggered(schedule.OverlapAllowAll)
	sched.Spec.Cron = []string{"0 0 1 * *"}
	return sched
}

// patchOf is the patch number i: it pauses or unpauses, triggers, backfills count months that no other patch has, and skips the
// next time.
func patchOf(i, count int) schedule.PatchRequest {
	first := time.Date(2000, time.Month(1+i*count), 1, 0, 0, 0, 0, time.UTC)
	patch := schedule.PatchRequest{
		ID: "patched", RequestID: fmt.Sprintf("patch-%d", i),
		Trigger: &schedule.Trigger{Overlap: schedule.OverlapAllowAll},
		Backfills: []schedule.BackfillRange{
			{Start: first, End: first.AddDate(0, count-1, 0), Overlap: schedule.OverlapAllowAll},
		},
		Skip: &schedule.Skip{Count: 1},
	}
	if note := (&schedule.Note{Note: patch.RequestID}); i%2 == 0 {
		patch.Pause = note
	} else {
		patch.Unpause = note
	}
	return patch
}

// untilAnswered repeats a request while nobody answers. It returns any other error to the test.
func untilAnswered(ctx context.Context, send func() error) error {
	for {
		err := send()
		if schedule.CodeOf(err) != schedule.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		wait(ctx, 100*time.Millisecond)
	}
}

// moreThanOnce are the request IDs that ran more than once.
func moreThanOnce(runs []ran) []string {
	var twice []string
	seen := map[string]bool{}
	for _, r := range runs {
		if seen[r.RequestID] {
			twice = append(twice, r.RequestID)
		}
		seen[r.RequestID] = true
	}
	return twice
}
