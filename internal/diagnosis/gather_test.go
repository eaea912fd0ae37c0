package diagnosis

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func gather(t *testing.T, conn *nats.Conn, js jetstream.JetStream, names subjects.Names) *Facts {
	t.Helper()
	facts, err := Gather(t.Context(), Config{Conn: conn, JS: js, Names: names, Now: time.Now})
	require.NoError(t, err)
	return facts
}

func statuses(f *Facts) map[string]Status {
	all := map[string]Status{}
	for _, c := range Checks(f) {
		all[c.Name] = c.Status
	}
	return all
}

func TestGatherWithoutInstallation(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	facts := gather(t, conn, js, natstest.Names(t))
	assert.Nil(t, facts.Cluster)
	assert.Empty(t, facts.Problems)
	assert.Equal(t, map[string]Status{"nats": OK, "installation": Failed}, statuses(facts))
}

// TestGatherOfAnInstallationWithoutProcesses: Gather finds everything that is stored, and that nobody works on it.
func TestGatherOfAnInstallationWithoutProcesses(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	key := schedule.Key{Namespace: "default", ID: "tick"}
	for _, subject := range []string{
		names.InvokeWake(0, key), names.Action("default", "q", "w"), names.DeadLetter(subjects.PoolInvoker),
	} {
		_, err := js.Publish(t.Context(), subject, []byte("{}"))
		require.NoError(t, err)
	}
	require.NoError(t, js.DeleteConsumer(t.Context(), names.TaskStream(1), subjects.PoolGenerator))

	facts := gather(t, conn, js, names)
	assert.Empty(t, facts.Problems)
	assert.Len(t, facts.Streams, 3+8+2*3)
	var rolls []string
	for i := range facts.Streams {
		if facts.Streams[i].Rolls {
			rolls = append(rolls, facts.Streams[i].Name)
		}
	}
	assert.ElementsMatch(t, []string{names.ProgressStream(), names.WorkerDeadLetterStream(), names.HeartbeatStream()}, rolls)
	assert.Equal(t, 1, facts.Namespaces)
	require.Len(t, facts.Queues, 1)
	assert.Equal(t, 1, facts.Queues[0].Waiting)
	assert.False(t, facts.Queues[0].Worker)
	assert.Less(t, facts.NATS.Skew.Abs(), time.Second, "it is the same clock")
	for _, s := range facts.Streams {
		assert.NotEmpty(t, s.Leader, s.Name)
		assert.False(t, s.Missing || s.Unfit, s.Name)
	}
	state := stateOf(facts, subjects.PoolInvoker)
	assert.Equal(t, uint64(1), state.pending)
	assert.WithinDuration(t, time.Now(), state.oldest, time.Minute)
	assert.Equal(t, map[string]Status{
		"nats": OK, "installation": Failed, "storage": OK, "replicas": OK, "search": OK, "clock": OK, "timers": OK, "frontends": Failed, "time zones": OK, "generator": Failed,
		"invoker": Failed, "backfiller": Failed, "history": Failed, "workers": Warning, "dead letters": Warning, "events": OK,
	}, statuses(facts))
}

// TestGatherKnowsWhatHistoryHasToCarryOut: an entry of a journal that no process of history has taken is a task of this pool.
func TestGatherKnowsWhatHistoryHasToCarryOut(t *testing.T) {
	t.Parallel()
	conn, js, names := askedSetup(t, 0)
	_, err := js.Publish(t.Context(), names.Journal(0, schedule.Key{Namespace: "default", ID: "w"}), nil)
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the server has counted it", func() bool {
		state := stateOf(gather(t, conn, js, names), subjects.PoolHistory)
		return state.pending == 1 && time.Since(state.oldest) < time.Minute
	})
}

// TestGatherKnowsWhatIsInHand: a process may keep a message until its time comes, which is no fault.
func TestGatherKnowsWhatIsInHand(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	for _, id := range []string{"kept", "waiting"} {
		_, err := js.Publish(t.Context(), names.InvokeWake(0, schedule.Key{Namespace: "default", ID: id}), nil)
		require.NoError(t, err)
	}
	consumer, err := js.Consumer(t.Context(), names.TaskStream(0), subjects.PoolInvoker)
	require.NoError(t, err)
	for left := range 2 {
		message, err := consumer.Next()
		require.NoError(t, err)
		meta, err := message.Metadata()
		require.NoError(t, err)
		natstest.Eventually(t, natstest.Patience, "the server has counted them", func() bool {
			state := stateOf(gather(t, conn, js, names), subjects.PoolInvoker)
			youngest := state.oldest.After(meta.Timestamp) // it is the oldest of those that nobody has received
			return state.held == left+1 && state.pending == uint64(1-left) && youngest == (left == 0)
		})
	}
}

// TestGatherSeesWhatAnOperatorHasChanged: Gather finds changed settings on which Carillon's promises depend.
func TestGatherSeesWhatAnOperatorHasChanged(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), names.EventStream())
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxAge = time.Hour
	_, err = js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	assert.Equal(t, OK, statuses(gather(t, conn, js, names))["installation"], "an age is the operator's matter")
	config.AllowDirect = false
	_, err = js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	assert.Equal(t, Failed, statuses(gather(t, conn, js, names))["installation"])
}
