package topology_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The tests of this file check what the design expects of NATS, with the configurations that Carillon uses. If one fails after an
// upgrade of NATS, it says which promise is gone. Delayed messages are tested in internal/task.

const fetchWait = 10 * time.Second

var key = schedule.Key{Namespace: "default", ID: "nightly run"}

func TestSecondTaskReplacesTheFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	b.publish(t, b.names.Generate(0, key, subjects.WhatWake), "first")
	b.publish(t, b.names.Generate(0, key, subjects.WhatWake), "second")
	b.publish(t, b.names.Generate(0, key, subjects.WhatDue), "another")
	msgs := b.fetch(t, subjects.PoolGenerator, 2)
	require.Equal(t, "second", string(msgs[0].Data()))
	require.Equal(t, "another", string(msgs[1].Data()))
	require.EqualValues(t, 2, b.stored(t, b.names.TaskStream(0)))
}

// TestReplacedWhileHeld: a wake arrives while a pool works on the previous one. The new wake must be delivered too, and
// acknowledging the old one must not remove it.
func TestReplacedWhileHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	wake := b.names.Generate(0, key, subjects.WhatWake)
	b.publish(t, wake, "first")
	first := b.fetch(t, subjects.PoolGenerator, 1)[0]
	b.publish(t, wake, "second")
	require.NoError(t, first.DoubleAck(t.Context()))
	second := b.fetch(t, subjects.PoolGenerator, 1)[0]
	require.Equal(t, "second", string(second.Data()))
	require.NoError(t, second.DoubleAck(t.Context()))
	require.Zero(t, b.stored(t, b.names.TaskStream(0)))
}

func TestEachPoolGetsItsTasks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	b.publish(t, b.names.Generate(0, key, subjects.WhatWake), "generator")
	b.publish(t, b.names.InvokeWake(0, key), "invoker")
	b.publish(t, b.names.Callback(0, key, "queue", "request"), "invoker")
	b.publish(t, b.names.Backfill(0, key, "b1"), "backfiller")
	for pool, n := range map[string]int{subjects.PoolGenerator: 1, subjects.PoolInvoker: 2, subjects.PoolBackfiller: 1} {
		for _, msg := range b.fetch(t, pool, n) {
			require.Equal(t, pool, string(msg.Data()))
			require.NoError(t, msg.DoubleAck(t.Context()))
		}
	}
	require.Zero(t, b.stored(t, b.names.TaskStream(0)))
}

// TestOneRunOfAWorkflowAtATime follows the start of an action through everything that may happen to it.
func TestOneRunOfAWorkflowAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	b.requireOneRunAtATime(t, 1)
}

func (b bundle) requireOneRunAtATime(t *testing.T, replicas int) {
	t.Helper()
	_, err := b.js.CreateConsumer(t.Context(), b.names.ActionStream(), b.names.WorkerConsumer("default", "q"))
	require.NoError(t, err)
	start := func(request string) (*jetstream.PubAck, error) {
		return b.js.Publish(t.Context(), b.names.Action("default", "q", "wf"), []byte(request),
			jetstream.WithMsgID(request), jetstream.WithExpectLastSequencePerSubject(0))
	}
	requireRefused := func(request string) {
		t.Helper()
		_, err := start(request)
		var api *jetstream.APIError
		require.ErrorAs(t, err, &api)
		// With one replica it is always the first, with three either of them.
		require.Contains(t, []jetstream.ErrorCode{
			jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant,
		}, api.ErrorCode, "%v", err)
	}

	ack, err := start("r1")
	require.NoError(t, err)
	require.False(t, ack.Duplicate)
	requireRefused("r2") // queued
	// This is our own retry. With one replica it is refused too, and the stored message shows that it is ours. With three,
	// message IDs are checked first.
	if replicas == 1 {
		requireRefused("r1")
	} else {
		ack, err = start("r1")
		require.NoError(t, err)
		require.True(t, ack.Duplicate)
	}
	stored, err := bus.LeaderLast(t.Context(), b.js, b.names.ActionStream(), b.names.Action("default", "q", "wf"))
	require.NoError(t, err)
	require.Equal(t, "r1", stored.Header.Get(jetstream.MsgIDHeader))

	worker, err := b.js.Consumer(t.Context(), b.names.ActionStream(), subjects.WorkerConsumerName("default", "q"))
	require.NoError(t, err)
	run, err := worker.Next(jetstream.FetchMaxWait(fetchWait))
	require.NoError(t, err)
	requireRefused("r2") // in progress
	require.NoError(t, run.InProgress())
	requireRefused("r2")

	require.NoError(t, run.DoubleAck(t.Context()))
	natstest.Eventually(t, fetchWait, "the run is removed", func() bool { return b.stored(t, b.names.ActionStream()) == 0 })
	ack, err = start("r1")
	require.NoError(t, err)
	require.True(t, ack.Duplicate, "the window for repeats stands behind the expected sequence")
	ack, err = start("r2")
	require.NoError(t, err)
	require.False(t, ack.Duplicate)
}

// TestRepeatIsDropped publishes a hand-off twice, the second time after the first was processed.
func TestRepeatIsDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	subject := b.names.Event(key, schedule.EventStarted)
	for _, want := range []bool{false, true} {
		ack, err := b.js.Publish(t.Context(), subject, nil, jetstream.WithMsgID("e1"))
		require.NoError(t, err)
		require.Equal(t, want, ack.Duplicate)
	}
	require.EqualValues(t, 1, b.stored(t, b.names.EventStream()))
}

// TestAcknowledgedIsGoneAfterKill kills a server after tasks were acknowledged. Those must be gone, and those that a pool was
// working on must be delivered again.
//
// The server may forget how often the latter were delivered, because it writes that down some time later: a limit to deliveries
// counts from the last crash. It may also lose an unconfirmed acknowledgement; here the last one is confirmed.
func TestAcknowledgedIsGoneAfterKill(t *testing.T) {
	t.Parallel()
	for _, sync := range []natsserver.SyncMode{natsserver.SyncAlways, natsserver.SyncInterval} {
		t.Run(string(sync), func(t *testing.T) {
			t.Parallel()
			const tasks = 50
			c := natstest.Cluster(t, 1, natstest.Sync(sync))
			conn, js := natstest.Connect(t, c.URLs())
			b := bundle{js: js, names: natstest.Names(t)}
			b.ensure(t, topology.Settings{Shards: 1})
			for i := range 2 * tasks {
				b.publish(t, b.names.Generate(0, schedule.Key{Namespace: "default", ID: fmt.Sprint(i)}, subjects.WhatWake), "")
			}
			msgs := b.fetch(t, subjects.PoolGenerator, 2*tasks)
			for i, msg := range msgs[:tasks] {
				if i%2 == 1 { // the last is confirmed, and so are all before it
					require.NoError(t, msg.DoubleAck(t.Context()))
				} else {
					require.NoError(t, msg.Ack())
				}
			}
			require.NoError(t, conn.Flush())
			c.Kill(0)
			c.Restart(0)

			natstest.Eventually(t, fetchWait, "the server is back", func() bool { return js.Conn().IsConnected() })
			redelivered := b.fetch(t, subjects.PoolGenerator, tasks)
			for _, msg := range redelivered {
				meta, err := msg.Metadata()
				require.NoError(t, err)
				require.Greater(t, meta.Sequence.Stream, uint64(tasks), "an acknowledged task is back")
				require.LessOrEqual(t, meta.NumDelivered, uint64(2), "1 or 2: see above")
				require.NoError(t, msg.DoubleAck(t.Context()))
			}
			require.Zero(t, b.stored(t, b.names.TaskStream(0)))
		})
	}
}

func (b bundle) publish(t *testing.T, subject, body string) {
	t.Helper()
	_, err := b.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte(body)})
	require.NoError(t, err)
}

// fetch takes n messages for a pool, without acknowledging them.
func (b bundle) fetch(t *testing.T, pool string, n int) []jetstream.Msg {
	t.Helper()
	consumer, err := b.js.Consumer(t.Context(), b.names.TaskStream(0), pool)
	require.NoError(t, err)
	batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(fetchWait))
	require.NoError(t, err)
	var msgs []jetstream.Msg
	for msg := range batch.Messages() {
		msgs = append(msgs, msg)
	}
	require.NoError(t, batch.Error())
	require.Len(t, msgs, n)
	return msgs
}

// stored counts the messages of a stream without its pulse.
func (b bundle) stored(t *testing.T, stream string) (count uint64) {
	t.Helper()
	stored, err := natstest.Stored(t.Context(), b.js, stream)
	require.NoError(t, err)
	for _, messages := range stored {
		count += messages
	}
	return count
}
