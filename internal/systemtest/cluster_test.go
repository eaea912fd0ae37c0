package systemtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestClusterSurvivesItsLeaders kills, one after the other, the nodes that lead the streams of a cluster of three, and requires
// every action to have been started exactly once.
// wants every action to have been started exactly once.
func TestClusterSurvivesItsLeaders(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	conn, js := natstest.Connect(t, cluster.URLs())
	s := newSystem(t, conn, js, topology.Settings{Shards: 1, Replicas: 3})
	workerConn, _ := natstest.Connect(t, cluster.URLs())
	runs := s.work(workerConn, "q", nil)

	// Actions that come due during an outage are all due at once afterwards: only a policy that keeps all of them shows them
	// all.
	policies := []schedule.OverlapPolicy{schedule.OverlapAllowAll, schedule.OverlapBufferAll}
	const schedules = 4
	var created [schedules]time.Time
	for i := range created {
		sched := every(time.Second)
		sched.Policies.Overlap = policies[i%len(policies)]
		created[i] = s.create(id(i), sched).Info.CreateTime
	}
	awaitRuns(t, runs, schedules, 3)
	for _, stream := range []string{s.names.TaskStream(0), "KV_" + s.names.StateBucket(0), s.names.ActionStream()} {
		leader := cluster.Leader(t.Context(), js, stream)
		t.Logf("kill %s, the leader of %s", cluster.Node(leader).Name(), stream)
		before := len(runs.of(id(0)))
		cluster.Kill(leader)
		awaitRuns(t, runs, schedules, before+3)
		cluster.Restart(leader)
		cluster.AwaitCurrent(t.Context(), js)
	}
	end := time.Now()
	requireOnce(t, runs, created[:], end)
}

func id(i int) string { return fmt.Sprintf("beat-%d", i) }

// awaitRuns waits until each schedule has run that often.
func awaitRuns(t *testing.T, runs *ledger, schedules, count int) {
	t.Helper()
	natstest.Eventually(t, patience, fmt.Sprintf("every schedule to have run %d times", count), func() bool {
		for i := range schedules {
			if len(runs.of(id(i))) < count {
				return false
			}
		}
		return true
	})
}

// awaitUntil waits until each schedule has run for a time after end. Then everything that was due until end has been handled,
// except actions that are late out of order.
func awaitUntil(t *testing.T, runs *ledger, schedules int, end time.Time) {
	t.Helper()
	natstest.Eventually(t, patience, "every schedule to have run up to the end", func() bool {
		for i := range schedules {
			all := runs.of(id(i))
			if len(all) == 0 || all[len(all)-1].Nominal.Before(end.Add(2*time.Second)) {
				return false
			}
		}
		return true
	})
}

func upTo(runs []ran, end time.Time) []ran {
	for i, r := range runs {
		if r.Nominal.After(end) {
			return runs[:i]
		}
	}
	return runs
}

// requireOnce requires each schedule of every second to have run once for each time up to the end. Work that a dead server had
// begun comes again after seconds, and so may run after actions that were due later.
func requireOnce(t *testing.T, runs *ledger, created []time.Time, end time.Time) {
	t.Helper()
	awaitUntil(t, runs, len(created), end)
	problems := func() error {
		var all []error
		for i, from := range created {
			if err := exactlyOnce(upTo(runs.of(id(i)), end), time.Second, from, end); err != nil {
				all = append(all, fmt.Errorf("%s: %w", id(i), err))
			}
		}
		return errors.Join(all...)
	}
	for deadline := time.Now().Add(patience); problems() != nil && time.Now().Before(deadline); {
		wait(t.Context(), 50*time.Millisecond)
	}
	require.NoError(t, problems())
}
