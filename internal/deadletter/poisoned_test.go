package deadletter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// generate runs a generator that gives up on a message after three deliveries.
func (b *testBundle) generate() *kv.Store {
	b.Helper()
	store, err := kv.Open(b.Context(), b.js, b.names, 1)
	require.NoError(b, err)
	pool, err := generator.New(generator.Config{Config: pool.Config{Bus: natstest.Bus(b, b.js), Store: store, Names: b.names, Logger: natstest.Logger(b)}})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- loop.New(loop.Config{
			Bus: natstest.Bus(b, b.js), Names: b.names, Pool: subjects.PoolGenerator, Shards: 1, Logger: natstest.Logger(b), MaxDeliveries: 3,
		}, pool).Run(ctx)
	}()
	b.Cleanup(func() {
		cancel()
		assert.NoError(b, <-done)
	})
	return store
}

// hourly defines a schedule that is due every hour, and wakes the generator for it.
func (b *testBundle) hourly(store *kv.Store, id string) {
	b.Helper()
	d := wire.Definition{
		Namespace: "default", ID: id, Incarnation: "of-" + id, Version: 1, CreateTime: time.Now().UTC(),
		Schedule: schedule.Schedule{Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}}},
	}
	_, err := kv.Put(b.Context(), store, kv.Definition(d.Key()), &d, 0)
	require.NoError(b, err)
	wake := wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonCreated}
	require.NoError(b, task.Publish(b.Context(), natstest.Bus(b, b.js), b.names.GenerateWake(0, d.Key(), d.Version), &wake))
}

func (b *testBundle) armed(id string) bool {
	return b.last(b.names.TaskStream(0), b.names.DueTimer(0, keyOf(id))) != nil
}

// TestPoisonedScheduleRunsAgainAfterReplay: the record of one schedule cannot be read. Its wake becomes a letter, and the
// schedule does nothing; the others continue. When the record is repaired and the letter sent again, the schedule runs.
func TestPoisonedScheduleRunsAgainAfterReplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bucket, err := b.js.KeyValue(t.Context(), b.names.StateBucket(0))
	require.NoError(t, err)
	record := kv.Generator(keyOf("poisoned")).String()
	_, err = bucket.Put(t.Context(), record, []byte("garbage"))
	require.NoError(t, err)
	store := b.generate()
	b.hourly(store, "poisoned")
	b.hourly(store, "fine")

	natstest.Eventually(t, patience, "the other one is armed", func() bool { return b.armed("fine") })
	letter := deadletter.Letter{}
	natstest.Eventually(t, patience, "there is a letter", func() bool {
		letters, err := b.reader.List(t.Context(), deadletter.Filter{ScheduleID: "poisoned"})
		require.NoError(t, err)
		if len(letters) > 0 {
			letter = letters[0]
		}
		return len(letters) > 0
	})
	assert.EqualValues(t, 3, letter.Deliveries)
	assert.Equal(t, b.names.GenerateWake(0, keyOf("poisoned"), 1), letter.Origin.Subject)
	message, err := b.reader.Get(t.Context(), letter.Number)
	require.NoError(t, err)
	assert.Equal(t, deadletter.FormatRecord, message.Body.Format)
	assert.JSONEq(t, `{"incarnation":"of-poisoned","version":1,"reason":"created"}`, string(message.Body.Value))
	natstest.Eventually(t, patience, "the history says so", func() bool {
		return b.last(b.names.EventStream(), b.names.Event(keyOf("poisoned"), schedule.EventDeadLetter)) != nil
	})
	assert.Equal(t, letter.Reason, b.event(keyOf("poisoned"), schedule.EventDeadLetter).Reason)
	assert.False(t, b.armed("poisoned"))

	require.NoError(t, bucket.Delete(t.Context(), record))
	natstest.Eventually(t, patience, "the message has left the stream", func() bool {
		return b.last(b.names.TaskStream(0), letter.Origin.Subject) == nil
	})
	b.replayed(letter.Number)
	natstest.Eventually(t, patience, "the schedule is armed", func() bool { return b.armed("poisoned") })
	assert.Equal(t, schedule.EventReplayed, b.event(keyOf("poisoned"), schedule.EventReplayed).Kind)
	assert.Empty(t, b.numbers(deadletter.Filter{}))
}

// TestReplayForAScheduleThatIsGoneDoesNothing: the generator cleans up, as after a late wake.
func TestReplayForAScheduleThatIsGoneDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject := b.names.Generate(0, keyOf("gone"), subjects.WhatDue)
	wake, err := codec.Marshal(&wire.Wake{Incarnation: "of-gone", Version: 1, Reason: wire.ReasonDue})
	require.NoError(t, err)
	letter := b.bury(subjects.PoolGenerator, subject, string(wake))
	b.generate()
	b.replayed(letter)
	natstest.Eventually(t, patience, "it has been handled", func() bool { return b.last(b.names.TaskStream(0), subject) == nil })
	assert.Empty(t, b.numbers(deadletter.Filter{}))
	assert.False(t, b.armed("gone"))
}
