package systemtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// overlapScenario is what becomes of three starts. Each is requested once the previous one has found its place.
type overlapScenario struct {
	policy schedule.OverlapPolicy
	limit  int
	// running, waiting and skipped are the numbers while the first run goes on, or once it has been made to end.
	running, waiting int
	skipped          int64
	// ended are the statuses of the runs that the policy has ended. began is how many have begun by then.
	ended []schedule.Status
	began int
	// completed is how many complete once nothing blocks them.
	completed int
}

func TestOverlapPoliciesWithLongRuns(t *testing.T) {
	t.Parallel()
	canceled, terminated := schedule.StatusCanceled, schedule.StatusTerminated
	for _, test := range []overlapScenario{
		{policy: schedule.OverlapSkip, running: 1, skipped: 2, began: 1, completed: 1},
		{policy: schedule.OverlapSkip, limit: 2, running: 2, skipped: 1, began: 2, completed: 2},
		{policy: schedule.OverlapBufferOne, running: 1, waiting: 1, skipped: 1, began: 1, completed: 2},
		{policy: schedule.OverlapBufferAll, running: 1, waiting: 2, began: 1, completed: 3},
		{policy: schedule.OverlapBufferAll, limit: 2, running: 2, waiting: 1, began: 2, completed: 3},
		{policy: schedule.OverlapCancelOther, running: 1, ended: []schedule.Status{canceled, canceled}, began: 3, completed: 1},
		{policy: schedule.OverlapCancelOther, limit: 2, running: 2, ended: []schedule.Status{canceled}, began: 3, completed: 2},
		{policy: schedule.OverlapTerminateOther, running: 1, ended: []schedule.Status{terminated, terminated}, began: 3, completed: 1},
		{policy: schedule.OverlapTerminateOther, limit: 2, running: 2, ended: []schedule.Status{terminated}, began: 3, completed: 2},
		{policy: schedule.OverlapAllowAll, running: 3, began: 3, completed: 3},
	} {
		name := string(test.policy)
		if test.limit > 0 {
			name += " of two"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

func (o *overlapScenario) run(t *testing.T) {
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	sched := triggered(o.policy)
	sched.Policies.ConcurrencyLimit = o.limit
	s.create("o", sched)
	for i := range 3 {
		s.trigger("o")
		natstest.Eventually(t, natstest.Patience, "the start to find its place", func() bool {
			info := s.describe("o").Info
			settled := int(info.ActionCount) + info.BufferSize + int(info.OverlapSkipped)
			ends := o.policy == schedule.OverlapCancelOther || o.policy == schedule.OverlapTerminateOther
			return settled == i+1 && (!ends || info.BufferSize == 0 && len(g.arrived("o")) == i+1)
		})
	}
	natstest.Eventually(t, natstest.Patience, "runs to begin", func() bool { return len(g.arrived("o")) == o.began })
	var info schedule.Info
	natstest.Eventually(t, natstest.Patience, "runs to be recorded", func() bool {
		info = s.describe("o").Info
		return len(info.RunningWorkflows) == o.running
	})
	assert.Equal(t, o.waiting, info.BufferSize)
	assert.Equal(t, o.skipped, info.OverlapSkipped)
	assert.Equal(t, o.ended, s.statuses("o"))

	g.letAll()
	natstest.Eventually(t, natstest.Patience, "all to end", func() bool {
		info := s.describe("o").Info
		return info.BufferSize == 0 && len(info.RunningWorkflows) == 0
	})
	want := append([]schedule.Status(nil), o.ended...)
	for range o.completed {
		want = append(want, schedule.StatusCompleted)
	}
	assert.Equal(t, want, s.statuses("o"))
	for _, cause := range g.cleanUps() {
		if o.policy == schedule.OverlapCancelOther {
			assert.ErrorIs(t, cause, worker.ErrCanceled)
		} else {
			assert.ErrorIs(t, cause, worker.ErrTerminated)
		}
	}
	assert.Len(t, g.cleanUps(), len(o.ended), "a run that is ended may clean up")
	s.requireCountersFromEvents("o")
}

// A terminated run is over at once, whatever its code does. Its later report is ignored.
func TestTerminatedRunIsOverAtOnce(t *testing.T) {
	t.Parallel()
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	s.create("t", triggered(schedule.OverlapTerminateOther))
	s.trigger("t")
	first := g.await("t", 1)[0]
	s.trigger("t")
	s.awaitStatuses("t", schedule.StatusTerminated)
	g.await("t", 2)
	// A worker of another implementation reports all the same.
	_, err := s.js.Publish(t.Context(), first.Callback,
		[]byte(`{"requestId":"`+first.RequestID+`","status":"completed","result":1}`))
	require.NoError(t, err)
	g.letAll()
	s.awaitStatuses("t", schedule.StatusTerminated, schedule.StatusCompleted)
	s.requireCountersFromEvents("t")
}

// A cancel waits for a run that nobody has taken yet.
func TestCancelOfAQueuedRun(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.create("c", triggered(schedule.OverlapCancelOther))
	s.trigger("c")
	s.awaitRunning("c", 1)
	s.trigger("c")
	natstest.Eventually(t, natstest.Patience, "the second to wait", func() bool { return s.describe("c").Info.BufferSize == 1 })
	runs := s.work(s.conn, "q", nil)
	s.awaitStatuses("c", schedule.StatusCanceled, schedule.StatusCompleted)
	require.Len(t, runs.of("c"), 1, "the canceled run must not begin")
}

// A cancel waits for the worker that takes over a run from a worker that died.
func TestCancelOfARunWhoseWorkerDied(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.create("d", triggered(schedule.OverlapCancelOther))
	s.trigger("d")
	s.awaitRunning("d", 1)
	// A worker takes the run, and is never heard of again.
	consumer, err := s.js.CreateConsumer(t.Context(), s.names.ActionStream(), s.names.WorkerConsumer("default", "q"))
	require.NoError(t, err)
	_, err = consumer.Next()
	require.NoError(t, err)
	s.trigger("d")
	natstest.Eventually(t, natstest.Patience, "the second to wait", func() bool { return s.describe("d").Info.BufferSize == 1 })
	runs := s.work(s.conn, "q", nil)
	s.awaitStatuses("d", schedule.StatusCanceled, schedule.StatusCompleted)
	require.Len(t, runs.of("d"), 1, "the canceled run must not begin again")
}
