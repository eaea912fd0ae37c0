package consistency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// busyPause is far shorter than the pause in production.
	busyPause = 500 * time.Millisecond
	// busyLooks is how often the test checks everything while everything moves.
	busyLooks = 5
)

func TestBusySystemIsConsistent(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	newInstallationOn(t, conn, js, 1, busyPause).isConsistentWhileBusy(40)
}

// TestBusyClusterIsConsistent does the same with replicas that lag behind their leaders.
func TestBusyClusterIsConsistent(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	conn, js := natstest.Connect(t, cluster.URLs())
	newInstallationOn(t, conn, js, 3, busyPause).isConsistentWhileBusy(10)
}

// isConsistentWhileBusy checks repeatedly while everything moves. A scrubber, which would mend faults, looks as well.
func (s *installation) isConsistentWhileBusy(schedules int) {
	s.Helper()
	s.work()
	policies := schedule.OverlapPolicies()
	for i := range schedules {
		s.create(fmt.Sprint("busy-", i), time.Second, func(r *schedule.CreateRequest) {
			r.Policies.Overlap = policies[i%len(policies)]
			r.Action.RunTimeout = schedule.Duration(time.Duration(i%2) * time.Minute)
		})
	}
	ctx, cancel := context.WithCancel(s.Context())
	var log bytes.Buffer
	scrubber := s.scrubber(slog.New(slog.NewTextHandler(&log, nil)))
	var running sync.WaitGroup
	defer func() {
		cancel()
		running.Wait()
		assert.Empty(s, log.String(), "what the scrubber has found")
	}()
	running.Go(func() { assert.NoError(s, scrubber.Run(ctx)) })
	running.Go(func() { s.disturb(ctx, schedules) })
	for range busyLooks {
		report, err := s.checker.Check(ctx, "", false)
		require.NoError(s, err)
		for _, f := range report.Findings {
			assert.Fail(s, "inconsistent", "%s %s %s: %s", f.ScheduleID, f.Kind, f.About, f.What)
		}
	}
}

// disturb changes schedules, triggers and backfills, deletes and creates, until ctx ends. The last request is still completed.
func (s *installation) disturb(ctx context.Context, schedules int) {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprint("busy-", n%schedules)
		end := time.Now().Truncate(time.Second)
		var err error
		switch n % 5 {
		case 0:
			_, err = s.api.Trigger(s.Context(), schedule.TriggerRequest{ID: id})
		case 1:
			_, err = s.api.Backfill(s.Context(), schedule.BackfillRequest{
				ID: id, BackfillRange: schedule.BackfillRange{Start: end.Add(-20 * time.Second), End: end, Overlap: schedule.OverlapAllowAll},
			})
		case 2:
			err = errors.Join(s.api.Pause(s.Context(), id, ""), s.api.Unpause(s.Context(), id, ""))
		case 3:
			err = s.api.Delete(s.Context(), fmt.Sprint("short-", n-5))
			if schedule.CodeOf(err) == schedule.CodeNotFound {
				err = nil
			}
		case 4:
			_, err = s.api.Create(s.Context(), schedule.CreateRequest{ID: fmt.Sprint("short-", n-1), TriggerNow: true, Schedule: schedule.Schedule{
				Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}},
				Action: schedule.Action{Type: "record", TaskQueue: "q"},
			}})
		}
		if schedule.CodeOf(err) != schedule.CodeResourceExhausted {
			assert.NoError(s, err)
		}
	}
}
