package frontend_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestTriggerWritesAndHandsOver(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	reply, err := in.conn.RequestMsg(&nats.Msg{
		Subject: in.names.API("default", subjects.ThingSchedule, "trigger"), Header: nats.Header{telemetry.HeaderTraceparent: {trace}},
		Data: []byte(`{"id":"nightly","overlap":"allow_all","note":"by hand"}`),
	}, patience)
	require.NoError(t, err)
	trigger, err := decode[schedule.TriggerReply](reply)
	require.NoError(t, err)
	assert.Equal(t, "nightly", trigger.ID)
	assert.NotContains(t, trigger.TriggerID, ".")

	def := in.definition("nightly")
	pending := in.pending("nightly")
	require.Len(t, pending, 1)
	assert.Equal(t, trigger.TriggerID, pending[0].ID)
	assert.Equal(t, def.Incarnation, pending[0].Incarnation)
	assert.Equal(t, &schedule.Trigger{Overlap: schedule.OverlapAllowAll, Note: "by hand"}, pending[0].Trigger)
	assert.False(t, pending[0].RequestTime.IsZero())
	traceID := strings.Split(trace, "-")[1]
	assert.Contains(t, pending[0].Trace, traceID)

	handOff, message := in.handOff("nightly", &pending[0])
	assert.Equal(t, pending[0].TriggerHandOff(&def), handOff, "as the backfiller would make it of the record")
	assert.Contains(t, message.Header.Get(telemetry.HeaderTraceparent), traceID)
	assert.NotNil(t, in.task("nightly", in.backfillTimer("nightly", trigger.TriggerID)), "should the invoker not get it")
	assert.Nil(t, in.task("nightly", in.backfill("nightly", trigger.TriggerID)))
}

// handOff returns the hand-off of a trigger, or nil.
func (in *installation) handOff(id string, trigger *wire.BackfillState) (*wire.Enqueue, *jetstream.RawStreamMsg) {
	in.t.Helper()
	at := trigger.RequestTime
	span := wire.Span{From: at.Add(-1), To: at}
	message := in.task(id, in.names.InvokeEnqueue(in.store.ShardOf(in.key(id)), in.key(id), trigger.ID, span))
	if message == nil {
		return nil, nil
	}
	var handOff wire.Enqueue
	require.NoError(in.t, codec.Unmarshal(message.Data, &handOff))
	return &handOff, message
}

// TestTriggerThatIsNotHandedOver: its request has been answered, so the guard leaves the trigger to the backfiller.
func TestTriggerThatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.run(shortGuard, hook(func(_ context.Context, m *nats.Msg) error {
		if strings.Contains(m.Subject, ".invoke.") {
			return errors.New("crash")
		}
		return nil
	}))
	in.create("nightly", "")
	trigger, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.NoError(t, err)
	require.Len(t, in.pending("nightly"), 1)
	natstest.Eventually(t, patience, "the backfiller is woken", func() bool {
		return in.wake("nightly", in.backfill("nightly", trigger.TriggerID)) != nil
	})
}

// TestRepeatedTriggerIsNotHandedOverAgain: the repeat is made at another time than the record says, so it would be another start.
func TestRepeatedTriggerIsNotHandedOverAgain(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	for range 2 {
		_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":"r1"}`)
		require.NoError(t, err)
	}
	pending := in.pending("nightly")
	require.Len(t, pending, 1)
	stream, err := in.js.Stream(t.Context(), in.names.TaskStream(in.store.ShardOf(in.key("nightly"))))
	require.NoError(t, err)
	prefix := strings.TrimSuffix(in.names.InvokeWake(in.store.ShardOf(in.key("nightly")), in.key("nightly")), subjects.WhatWake)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(prefix+"*"))
	require.NoError(t, err)
	assert.Len(t, info.State.Subjects, 1)
	assert.NotNil(t, in.wake("nightly", in.backfill("nightly", pending[0].ID)), "the backfiller does what may not have been done")
}

func TestTriggerIsIdempotentByRequestID(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	trigger := func(requestID string) string {
		reply, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":"`+requestID+`"}`)
		require.NoError(t, err)
		return reply.TriggerID
	}
	first := trigger("r1")
	assert.Equal(t, first, trigger("r1"))
	assert.Len(t, in.pending("nightly"), 1)
	assert.NotEqual(t, first, trigger("r2"))
	assert.Len(t, in.pending("nightly"), 2)
	assert.NotEqual(t, trigger(""), trigger(""))
	assert.Len(t, in.pending("nightly"), 4)
}

// Once the invoker has the start, the record of the trigger is removed.
func TestRepeatedTriggerDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	const body = `{"id":"nightly","requestId":"r1"}`
	trigger, err := answer[schedule.TriggerReply](in, "trigger", body)
	require.NoError(t, err)

	state := wire.InvokerState{
		Incarnation: in.definition("nightly").Incarnation,
		Starts:      []wire.BufferedStart{{Source: trigger.TriggerID, Phase: schedule.PhaseCompleted}},
	}
	_, err = kv.Put(t.Context(), in.store, kv.Invoker(in.key("nightly")), &state, 0)
	require.NoError(t, err)
	record, err := kv.Get(t.Context(), in.store, kv.Backfill(in.key("nightly"), trigger.TriggerID))
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), in.store, kv.Backfill(in.key("nightly"), trigger.TriggerID), record.Revision))

	again, err := answer[schedule.TriggerReply](in, "trigger", body)
	require.NoError(t, err)
	assert.Equal(t, trigger, again)
	assert.Empty(t, in.pending("nightly"))
}

func TestTooManyTriggersAreRefused(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	for range 100 {
		_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":""}`)
		require.NoError(t, err)
	}
	_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeResourceExhausted})
	assert.ErrorContains(t, err, "100")
}

// TestTooManyTriggersOfAPatch: they count as soon as they are requested, although the generator has made no records of them.
func TestTooManyTriggersOfAPatch(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.NoError(t, err)
	day := `{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}`
	_, err = answer[schedule.Description](in, "patch",
		`{"id":"nightly","backfills":[`+strings.Repeat(day+",", 98)+day+`]}`)
	require.NoError(t, err)
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeResourceExhausted})
}

// TestTriggersOfASecond: triggers are distinct, and all exist. Most of them are accepted without a look at the others.
func TestTriggersOfASecond(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.create("nightly", "")
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.Len(t, in.pending("nightly"), 60)
}

// TestTriggerOfAnotherSchedule: another frontend has created a schedule under the same ID after this one has looked.
func TestTriggerOfAnotherSchedule(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	trigger := func() string {
		reply, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":"r1"}`)
		require.NoError(t, err)
		return reply.TriggerID
	}
	first := trigger()
	record, err := kv.Get(t.Context(), in.store, kv.Definition(in.key("nightly")))
	require.NoError(t, err)
	record.Value.Incarnation = "another"
	_, err = kv.Put(t.Context(), in.store, kv.Definition(in.key("nightly")), &record.Value, record.Revision)
	require.NoError(t, err)
	second := trigger()
	require.NotEqual(t, first, second)
	for _, pending := range in.pending("nightly") {
		assert.Equal(t, pending.ID == second, pending.Incarnation == "another")
		handOff, _ := in.handOff("nightly", &pending)
		require.NotNil(t, handOff)
		assert.Equal(t, pending.Incarnation, handOff.Incarnation)
	}
	assert.NotNil(t, in.task("nightly", in.backfillTimer("nightly", second)), "it is guarded")
}
