package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func (in *installation) delete(id, requestID string) error {
	_, err := answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":%q,"requestId":%q}`, id, requestID))
	return err
}

func TestRepeatedDelete(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	require.NoError(t, in.delete("nightly", "r1"))
	require.NoError(t, in.delete("nightly", "r1"), "a repeat succeeds")
	for _, other := range []string{"", "r2"} {
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(in.delete("nightly", other)))
	}
	in.create("nightly", "")
	require.NoError(t, in.delete("nightly", "r1"))
	_, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	require.NoError(t, err, "a repeat spares the next schedule of the name")
	count, _ := in.events("nightly", schedule.EventDeleted)
	assert.EqualValues(t, 1, count)

	require.NoError(t, in.delete("nightly", "r2"))
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(in.delete("nightly", "r1")), "only the last deletion is remembered")
}

func TestRepeatedDeleteLooksAtNoToken(t *testing.T) {
	t.Parallel()
	in := installed(t)
	token := in.create("nightly", "").ConflictToken
	body := fmt.Sprintf(`{"id":"nightly","requestId":"r","conflictToken":%d}`, token)
	for range 2 {
		_, err := answer[schedule.Empty](in, "delete", body)
		require.NoError(t, err)
	}
	in.create("nightly", "")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err)
	_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly","requestId":"other","conflictToken":1}`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
}

// silenced is a bus that stores no event and no wake while it is silent, like the bus of a frontend that dies after its write.
type silenced struct {
	bus.Bus
	names  subjects.Names
	silent *atomic.Bool
}

func (s silenced) Publish(ctx context.Context, msg *nats.Msg) error {
	if s.silent.Load() && strings.HasPrefix(msg.Subject, s.names.Prefix()+".task.") {
		return nats.ErrConnectionClosed
	}
	return s.Bus.Publish(ctx, msg)
}

func (s silenced) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	if s.silent.Load() {
		return nats.ErrConnectionClosed
	}
	return s.Bus.PublishAll(ctx, msgs)
}

// TestRepeatedDeleteNobodyHasToldOf: the frontend dies after it has deleted the definition, so the history knows of no deletion.
// The repeat goes to another frontend when the schedule is gone, or when another one has been created.
func TestRepeatedDeleteNobodyHasToldOf(t *testing.T) {
	t.Parallel()
	const request = "r 1/ä%2B+ "
	in := install(t)
	var silent atomic.Bool
	stop := in.run(func(c *frontend.Config) { c.Bus = silenced{bus.New(c.JS), in.names, &silent} })
	in.create("nightly", "")
	in.create("hourly", "")
	silent.Store(true)
	require.NoError(t, in.delete("nightly", request))
	require.NoError(t, in.delete("hourly", ""))
	count, _ := in.events("nightly", schedule.EventDeleted)
	require.Zero(t, count)
	stop()
	in.run()

	require.NoError(t, in.delete("nightly", request), "a repeat succeeds")
	for id, other := range map[string]string{"nightly": "r2", "hourly": request} {
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(in.delete(id, other)))
	}
	in.create("nightly", "")
	require.NoError(t, in.delete("nightly", request))
	_, err := answer[schedule.Description](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err, "a repeat spares the next schedule of the name")
	require.NoError(t, in.delete("nightly", request))
	_, err = answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	require.NoError(t, err, "also when that has been changed")

	require.NoError(t, in.delete("nightly", ""))
	in.create("nightly", "")
	require.NoError(t, in.delete("nightly", request))
	_, err = answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	require.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err), "only the last deletion is remembered")
}

func TestRepeatedCancelBackfill(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	reply, err := answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly",`+march+`}`)
	require.NoError(t, err)
	cancel := func(requestID string) error {
		_, err := answer[schedule.Empty](in, "cancelBackfill",
			fmt.Sprintf(`{"id":"nightly","backfillId":%q,"requestId":%q}`, reply.BackfillID, requestID))
		return err
	}
	require.NoError(t, cancel("r1"))
	require.NoError(t, cancel("r1"))
	record := in.pending("nightly")[0]
	assert.Equal(t, "r1", record.CancelRequestID)

	in.endBackfill(record)
	require.NoError(t, cancel("r1"), "a repeat succeeds also when the backfill is gone")
	for _, other := range []string{"", "r2"} {
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(cancel(other)))
	}
}

// endBackfill does what the backfiller does with a canceled record.
func (in *installation) endBackfill(record wire.BackfillState) {
	in.t.Helper()
	body, err := apitext.EncodeJSON(schedule.Event{
		ID: record.Incarnation + "-backfill_canceled-" + record.ID, Namespace: "default", ScheduleID: "nightly",
		Kind: schedule.EventBackfillCanceled, Source: record.ID, RequestID: record.CancelRequestID,
	})
	require.NoError(in.t, err)
	_, err = in.js.PublishMsg(in.t.Context(), &nats.Msg{
		Subject: in.names.Event(in.key("nightly"), schedule.EventBackfillCanceled), Data: body,
	})
	require.NoError(in.t, err)
	key := kv.Backfill(in.key("nightly"), record.ID)
	stored, err := kv.GetLeader(in.t.Context(), in.store, key)
	require.NoError(in.t, err)
	require.NoError(in.t, kv.Delete(in.t.Context(), in.store, key, stored.Revision))
}

// TestLateRepeats: the event stream remembers message IDs for a while. An event that a repeat publishes after that must not be
// stored again.
func TestLateRepeats(t *testing.T) {
	t.Parallel()
	in := install(t)
	natstest.ForgetSoon(t, in.js, in.names.EventStream())
	var ahead atomic.Int64
	in.run(func(c *frontend.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	ask := func() {
		_, err := answer[schedule.Description](in, "create", createBody("nightly", `,"requestId":"r1","triggerNow":true`))
		require.NoError(t, err)
		_, err = answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly","requestId":"r2","start":"2026-01-01T00:00:00Z","end":"2026-01-01T05:00:00Z"}`)
		require.NoError(t, err)
	}
	ask()
	told := func(kind schedule.EventKind) uint64 {
		count, _ := in.events("nightly", kind)
		return count
	}
	kinds := []schedule.EventKind{schedule.EventCreated, schedule.EventTriggered, schedule.EventBackfillRequested}
	for _, kind := range kinds {
		natstest.Eventually(t, patience, "the event is stored", func() bool { return told(kind) == 1 })
	}
	probe := func() bool {
		ack, err := in.js.Publish(t.Context(), in.names.Event(in.key("probe"), schedule.EventDeferred), nil, jetstream.WithMsgID("probe"))
		require.NoError(t, err)
		return !ack.Duplicate
	}
	require.True(t, probe())
	natstest.Eventually(t, patience, "message IDs are forgotten", probe)
	ahead.Store(int64(time.Hour))
	ask()
	for _, kind := range kinds {
		require.EqualValues(t, 1, told(kind), kind)
	}
}
