package systemtest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

func single(t *testing.T) *system {
	t.Helper()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	return newSystem(t, conn, js, topology.Settings{})
}

func TestScheduleFiresWorkerRunsCompletionReturns(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	created := s.create("beat", every(time.Second))

	natstest.Eventually(t, natstest.Patience, "4 completed actions", func() bool {
		return len(completed(s.describe("beat").Info.RecentActions)) >= 4
	})
	last := slices.MaxFunc(runs.of("beat"), func(a, b ran) int { return a.Nominal.Compare(b.Nominal) }).Nominal
	require.NoError(t, exactlyOnce(runs.of("beat"), time.Second, created.Info.CreateTime, last))
	for _, r := range runs.of("beat") {
		t.Logf("late by %v", r.At.Sub(r.Nominal))
	}
	info := s.describe("beat").Info
	require.NotEmpty(t, info.FutureActionTimes)
	require.GreaterOrEqual(t, info.ActionCount, int64(4))
	require.Zero(t, info.MissedCatchupWindow+info.OverlapSkipped+info.BufferDropped)
}

func completed(runs []schedule.Run) []schedule.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r schedule.Run) bool { return r.Status == "" })
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	s.create("manual", schedule.Schedule{Action: schedule.Action{Type: "record", TaskQueue: "q"}})
	_, err := s.client.Trigger(t.Context(), schedule.TriggerRequest{ID: "manual"})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the triggered run to complete", func() bool {
		return len(completed(s.describe("manual").Info.RecentActions)) == 1
	})
	require.Len(t, runs.of("manual"), 1)
}
