package systemtest

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestConsumersDeletedByHand: deleting the consumers of pools and workers stops nothing for longer than it takes to make them
// again. Messages on their way are not lost.
func TestConsumersDeletedByHand(t *testing.T) {
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		t.Parallel()
		conn, js := natstest.Connect(t, natstest.Server(t))
		s := newSystem(t, conn, js, topology.Settings{Shards: 2})
		testDeletedConsumers(t, s)
	})
	t.Run("three nodes", func(t *testing.T) {
		t.Parallel()
		conn, js := natstest.Connect(t, natstest.Cluster(t, 3).URLs())
		s := newSystem(t, conn, js, topology.Settings{Shards: 2, Replicas: 3})
		testDeletedConsumers(t, s)
	})
}

func testDeletedConsumers(t *testing.T, s *system) {
	ledger := s.work(s.conn, "q", nil)
	created := map[string]time.Time{}
	for _, key := range natstest.KeyInEachShard(2) {
		sched := every(time.Second)
		sched.Policies.Overlap = schedule.OverlapAllowAll // the first run may wait long for a consumer that is new in a cluster
		created[key.ID] = s.create(key.ID, sched).Info.CreateTime
	}
	awaitDue(t, ledger, created, time.Now())

	deleted := s.deleteConsumers()
	require.Len(t, deleted, 2*3+1, "three pools of two shards, and a task queue")
	now := time.Now()
	triggered, err := s.client.TriggerAndWait(t.Context(), schedule.TriggerRequest{
		ID: "s0", Trigger: schedule.Trigger{Overlap: schedule.OverlapAllowAll},
	})
	require.NoError(t, err)
	assert.Equal(t, schedule.StatusCompleted, triggered.Status)
	awaitDue(t, ledger, created, now.Add(2*time.Second))
	for id, since := range created {
		assert.NoError(t, exactlyOnce(due(ledger.of(id)), time.Second, since, now))
	}
	for _, c := range deleted {
		_, err := s.js.Consumer(t.Context(), c.Stream, c.Name)
		assert.NoError(t, err, "%s of %s", c.Name, c.Stream)
	}
}

// due are the runs that a spec asked for.
func due(runs []ran) []ran {
	return slices.DeleteFunc(runs, func(r ran) bool { return !r.Nominal.Equal(r.Nominal.Truncate(time.Second)) })
}

// awaitDue waits until each schedule has run for a time after the given one.
func awaitDue(t *testing.T, l *ledger, ids map[string]time.Time, after time.Time) {
	t.Helper()
	for id := range ids {
		natstest.Eventually(t, patience, id+" runs", func() bool {
			runs := due(l.of(id))
			return len(runs) > 0 && runs[len(runs)-1].Nominal.After(after)
		})
	}
}

// deleteConsumers deletes all consumers of the task streams and of the action stream, and returns them.
func (s *system) deleteConsumers() (deleted []*jetstream.ConsumerInfo) {
	for _, name := range []string{s.names.TaskStream(0), s.names.TaskStream(1), s.names.ActionStream()} {
		stream, err := s.js.Stream(s.t.Context(), name)
		require.NoError(s.t, err)
		consumers := stream.ListConsumers(s.t.Context())
		for info := range consumers.Info() {
			if info.Name == subjects.PoolHistory {
				continue // this system has no such process, which would make the consumer again
			}
			require.NoError(s.t, stream.DeleteConsumer(s.t.Context(), info.Name))
			deleted = append(deleted, info)
		}
		require.NoError(s.t, consumers.Err())
	}
	return deleted
}
