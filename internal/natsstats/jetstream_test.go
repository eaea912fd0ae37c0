package natsstats

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// bundle is an installation of two shards with nothing in it, and a stopped clock.
type bundle struct {
	*site
	conn *nats.Conn
	now  time.Time
}

func setup(t *testing.T) *bundle {
	t.Helper()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	b := &bundle{conn: conn, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.site = &site{Config: Config{
		JS: js, Names: natstest.Names(t), Shards: 2, Logger: natstest.Logger(t), Now: func() time.Time { return b.now },
	}}
	_, err := topology.Ensure(t.Context(), js, b.Names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	return b
}

func (b *bundle) stream(t *testing.T, name string) stream {
	t.Helper()
	for _, s := range b.streams {
		if s.name == name {
			return s
		}
	}
	require.Fail(t, "no stream "+name)
	return stream{}
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := schedule.Key{Namespace: "default", ID: "nightly"}
	wake, due := b.Names.InvokeWake(1, key), b.Names.DueTimer(1, key)
	require.NoError(t, task.ArmMessage(t.Context(), natstest.Bus(t, b.JS), due, wake, time.Now().Add(time.Hour), nil, []byte("later")))
	for _, subject := range []string{wake, b.Names.Pulse(1)} {
		_, err := b.JS.Publish(t.Context(), subject, []byte("now"))
		require.NoError(t, err)
	}

	b.refresh(t.Context())
	require.True(t, b.up)
	require.Len(t, b.streams, 1+8+2*4, "eight of all shards, the bucket of the cluster, and four of each shard")
	tasks := b.stream(t, b.Names.TaskStream(1))
	assert.EqualValues(t, 4, tasks.state.Msgs, "with the pulse, its timer and what it has delivered")
	assert.Positive(t, tasks.state.Bytes)
	assert.Equal(t, 1, tasks.timers())
	assert.Equal(t, 1, tasks.current)
	assert.Equal(t, 1, tasks.wanted)
	pending := map[string]uint64{}
	for _, c := range tasks.consumers {
		pending[c.Name] = c.NumPending
	}
	assert.Equal(t, map[string]uint64{
		subjects.PoolGenerator: 0, subjects.PoolInvoker: 1, subjects.PoolBackfiller: 0, subjects.PoolHistory: 0,
	}, pending)
	idle := b.stream(t, b.Names.TaskStream(0))
	assert.Zero(t, idle.timers())
}

func TestAsksNotTooOften(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refresh(t.Context())
	require.True(t, b.up)
	b.conn.Close()
	b.now = b.now.Add(freshFor - 1)
	b.refresh(t.Context())
	assert.True(t, b.up, "by the answer before")
	b.now = b.now.Add(1)
	b.refresh(t.Context())
	assert.False(t, b.up)
	assert.Empty(t, b.streams)
}

func TestStreamIsMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.JS.DeleteStream(t.Context(), b.Names.DeadLetterStream()))
	_, err := b.survey(t.Context())
	require.ErrorContains(t, err, b.Names.DeadLetterStream())
}

// TestManyConsumers: the consumers of the action stream are named after task queues, and clients may invent any number of them.
func TestManyConsumers(t *testing.T) {
	t.Parallel()
	var all []*jetstream.ConsumerInfo
	for i := range 1500 {
		all = append(all, &jetstream.ConsumerInfo{Name: fmt.Sprintf("worker-%04d", i), NumPending: 2, NumAckPending: 1, NumRedelivered: 3})
	}
	shown := fold(all)
	require.Len(t, shown, metrics.QueuesOfNamespace+1)
	rest := 1500 - metrics.QueuesOfNamespace
	assert.Equal(t, &jetstream.ConsumerInfo{
		Name: metrics.OtherQueues, NumPending: uint64(2 * rest), NumAckPending: rest, NumRedelivered: 3 * rest,
	}, shown[metrics.QueuesOfNamespace])
	assert.Equal(t, "worker-0099", shown[99].Name)
	assert.Len(t, fold(shown[:3]), 3)
}
