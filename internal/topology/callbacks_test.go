package topology_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestCallbackStreamTakesPlainMessages: whoever may report on a run can do nothing else with the report, whatever its headers
// say.
func TestCallbackStreamTakesPlainMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	key := schedule.Key{Namespace: "default", ID: "nightly"}
	own, other := b.names.Callback(0, key, "q", "r1"), b.names.Callback(0, key, "other", "r2")
	armed := b.names.DueTimer(0, key)
	bus := natstest.Bus(t, b.js)
	require.NoError(t, task.ArmMessage(t.Context(), bus, armed, b.names.Generate(0, key, subjects.WhatDue), time.Now().Add(time.Hour), nil, nil))
	_, err := b.js.Publish(t.Context(), other, []byte("{}"))
	require.NoError(t, err)

	for name, header := range map[string]nats.Header{
		"a roll-up of the stream":           {"Nats-Rollup": {"all"}},
		"a roll-up of the subject":          {"Nats-Rollup": {"sub"}},
		"the removal of a timer":            {task.HeaderScheduler: {armed}, task.HeaderNext: {"purge"}},
		"the removal of another completion": {task.HeaderScheduler: {other}, task.HeaderNext: {"purge"}},
		"a timer":                           {task.HeaderAt: {"@at 2000-01-01T00:00:00Z"}, task.HeaderTarget: {other}},
		"a task later":                      {task.HeaderAt: {"@at 2000-01-01T00:00:00Z"}, task.HeaderTarget: {b.names.InvokeWake(0, key)}},
		"an end of its own":                 {"Nats-TTL": {"1s"}},
		"a count":                           {"Nats-Incr": {"+1"}},
	} {
		_, err := b.js.PublishMsg(t.Context(), &nats.Msg{Subject: own, Header: header, Data: []byte("{}")})
		var refused *jetstream.APIError
		assert.ErrorAs(t, err, &refused, name)
	}
	require.Equal(t, []string{other}, b.subjectsIn(t, b.names.CallbackStream(0)))
	require.Contains(t, b.subjectsIn(t, b.names.TaskStream(0)), armed)
	require.NotContains(t, b.subjectsIn(t, b.names.TaskStream(0)), b.names.InvokeWake(0, key))
}

// TestTooManyCompletions: new ones are refused, a repeat of a waiting one is not, and nothing is pushed out.
func TestTooManyCompletions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	config := b.config(t, b.names.CallbackStream(0))
	config.MaxBytes = 4 << 20 // as an operator may choose
	_, err := b.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	b.ensure(t, topology.Settings{})
	key := schedule.Key{Namespace: "default", ID: "nightly"}
	body := make([]byte, 512<<10)
	stored := 0
	var refused *jetstream.APIError
	for ; stored < 100; stored++ {
		if _, err = b.js.Publish(t.Context(), b.names.Callback(0, key, "q", strconv.Itoa(stored)), body); err != nil {
			break
		}
	}
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Description, "maximum bytes exceeded")
	require.Greater(t, stored, 5)
	require.Len(t, b.subjectsIn(t, b.names.CallbackStream(0)), stored)
	_, err = b.js.Publish(t.Context(), b.names.Callback(0, key, "q", "0"), body)
	require.NoError(t, err, "it takes the place of the one before")
	_, err = b.js.Publish(t.Context(), b.names.Callback(0, key, "q", "0"), make([]byte, subjects.MaxCallbackBytes))
	require.Error(t, err, "too large")
}

// TestCompletionsGetStreamsOfTheirOwn upgrades an installation that has completions among its tasks. The waiting completions are
// not lost, nor are the timers set for them.
func TestCompletionsGetStreamsOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := natstest.Cluster(t, 3)
	_, js := natstest.Connect(t, c.URLs())
	b := bundle{js: js, names: natstest.Names(t)}
	b.ensure(t, topology.Settings{Shards: 2, Replicas: 3})
	key := schedule.Key{Namespace: "default", ID: "nightly"}
	for shard := range 2 {
		require.NoError(t, js.DeleteStream(t.Context(), b.names.CallbackStream(shard)))
		old := b.config(t, b.names.TaskStream(shard))
		old.Subjects = append(old.Subjects, b.names.Callbacks(shard))
		_, err := js.UpdateStream(t.Context(), old)
		require.NoError(t, err)
	}
	waiting, late, fresh := b.names.Callback(0, key, "q", "r1"), b.names.Callback(0, key, "q", "r2"), b.names.Callback(0, key, "q", "r3")
	_, err := js.Publish(t.Context(), waiting, []byte("{}"))
	require.NoError(t, err)
	armed := task.Delayed(b.names.TimeoutTimer(0, key, "r2"), late, time.Now().Add(2*time.Second), nil, []byte("{}"))
	_, err = js.PublishMsg(t.Context(), armed)
	require.NoError(t, err)

	facts := b.ensureAtOnce(t, slices.Repeat([]topology.Settings{{}}, 4))[0]
	b.requireComplete(t, facts)
	_, err = js.Publish(t.Context(), fresh, []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, []string{fresh}, b.subjectsIn(t, b.names.CallbackStream(0)))

	got := map[string]bool{}
	for _, of := range b.names.ConsumersOfPool(0, subjects.PoolInvoker) {
		consumer, err := js.Consumer(t.Context(), of.Stream, of.Config.Durable)
		require.NoError(t, err)
		messages, err := consumer.Messages()
		require.NoError(t, err)
		want := 1
		if of.Stream == b.names.TaskStream(0) {
			want = 2 // one had been reported; the other times out by a timer of the earlier release
		}
		for range want {
			msg, err := messages.Next(jetstream.NextMaxWait(20 * time.Second))
			require.NoError(t, err)
			require.NoError(t, msg.Ack())
			got[msg.Subject()] = true
		}
		messages.Stop()
	}
	require.ElementsMatch(t, []string{waiting, late, fresh}, slices.Collect(maps.Keys(got)))
}

// subjectsIn returns the subjects of the messages in a stream.
func (b bundle) subjectsIn(t *testing.T, stream string) []string {
	t.Helper()
	s, err := b.js.Stream(t.Context(), stream)
	require.NoError(t, err)
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(info.State.Subjects))
}
