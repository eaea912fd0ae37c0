package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

const march = `"start":"2026-03-01T00:00:00+01:00","end":"2026-04-01T00:00:00+01:00"`

func TestBackfillWritesWakesAndTells(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	const body = `{"id":"nightly",` + march + `,"overlap":"buffer_all","note":"gap","requestId":"r1"}`
	reply, err := answerTo[schedule.BackfillReply](in, "ann@desk", "backfill", body)
	require.NoError(t, err)
	assert.Equal(t, "nightly", reply.ID)

	def := in.definition("nightly")
	assert.Equal(t, uint64(1), def.Version, "it is no change of the definition")
	start, end := time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC), time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC)
	pending := in.pending("nightly")
	require.Len(t, pending, 1)
	record := pending[0]
	assert.False(t, record.RequestTime.IsZero())
	record.RequestTime = time.Time{}
	assert.Equal(t, wire.BackfillState{
		Incarnation: def.Incarnation, ID: reply.BackfillID, Identity: "ann@desk", RequestID: "r1",
		Range: &schedule.BackfillRange{Start: start, End: end, Overlap: schedule.OverlapBufferAll, Note: "gap"},
	}, record)
	assert.Equal(t,
		&wire.Wake{Incarnation: def.Incarnation, Version: 1, Reason: wire.ReasonTriggered},
		in.wake("nightly", in.backfill("nightly", reply.BackfillID)))
	assert.Nil(t, in.task("nightly", in.backfillTimer("nightly", reply.BackfillID)))

	_, event := in.events("nightly", schedule.EventBackfillRequested)
	assert.Equal(t, reply.BackfillID, event.Source)
	assert.Equal(t, "gap", event.Reason)
	assert.Equal(t, start, event.First)
	assert.Equal(t, end, event.Last)
	assert.Equal(t, "ann@desk", event.Identity)
	assert.Equal(t, "r1", event.RequestID)

	again, err := answer[schedule.BackfillReply](in, "backfill", body)
	require.NoError(t, err)
	assert.Equal(t, reply, again)
	assert.Len(t, in.pending("nightly"), 1)
	count, _ := in.events("nightly", schedule.EventBackfillRequested)
	assert.Equal(t, uint64(1), count)

	trigger, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":"r1"}`)
	require.NoError(t, err)
	assert.NotEqual(t, reply.BackfillID, trigger.TriggerID, "the request IDs of verbs do not get into each other's way")
	assert.Len(t, in.pending("nightly"), 2)
}

func TestTriggerTellsAndKeepsOverrides(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	reply, err := answerTo[schedule.TriggerReply](in, "ann@desk", "trigger",
		`{"id":"nightly","note":"by hand","input":{"a":1},"headers":{"h":"v"},"memo":{"m":[1]},"requestId":"r1"}`)
	require.NoError(t, err)
	pending := in.pending("nightly")
	require.Len(t, pending, 1)
	assert.True(t, pending[0].Trigger.Overrides())
	assert.JSONEq(t, `{"a":1}`, string(pending[0].Trigger.Input))
	assert.Equal(t, map[string]string{"h": "v"}, pending[0].Trigger.Headers)
	assert.JSONEq(t, `[1]`, string(pending[0].Trigger.Memo["m"]))
	_, event := in.events("nightly", schedule.EventTriggered)
	assert.Equal(t, in.definition("nightly").Incarnation+"-triggered-"+reply.TriggerID, event.ID)
	assert.Equal(t, reply.TriggerID, event.Source)
	assert.Equal(t, "by hand", event.Reason)
	assert.Equal(t, "ann@desk", event.Identity)
	assert.Equal(t, "r1", event.RequestID)
}

func TestCreateWithBackfills(t *testing.T) {
	t.Parallel()
	in := installed(t)
	const more = `,"requestId":"r1","triggerNow":true,"backfills":[{` + march + `,"note":"one"},{` + march + `,"note":"two"}]`
	_, err := answerTo[schedule.Description](in, "ann@desk", "create", createBody("nightly", more))
	require.NoError(t, err)
	def, pending := in.definition("nightly"), in.pending("nightly")
	require.Len(t, pending, 3)
	for _, record := range pending {
		assert.Equal(t, def.Incarnation, record.Incarnation)
		assert.Equal(t, def.CreateTime, record.RequestTime)
		assert.Equal(t, "ann@desk", record.Identity)
		assert.Equal(t, wire.ReasonTriggered, in.wake("nightly", in.backfill("nightly", record.ID)).Reason)
		assert.Nil(t, in.task("nightly", in.backfillTimer("nightly", record.ID)))
	}
	var reasons []string
	for _, event := range in.history("nightly") {
		reasons = append(reasons, string(event.Kind)+" "+event.Reason)
		assert.Equal(t, "ann@desk", event.Identity)
		assert.Equal(t, "r1", event.RequestID)
	}
	assert.Equal(t, []string{"created ", "triggered ", "backfill_requested one", "backfill_requested two"}, reasons)

	in.create("nightly", more)
	assert.Equal(t, pending, in.pending("nightly"))
	assert.Len(t, in.history("nightly"), 4)

	_, err = answer[schedule.Description](in, "create", createBody("nightly", strings.Replace(more, "r1", "r2", 1)))
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists})
	assert.Equal(t, pending, in.pending("nightly"), "a refused request leaves nothing")
}

func TestCreateWithAsManyBackfillsAsThereMayBe(t *testing.T) {
	t.Parallel()
	in := installed(t)
	ranges := strings.Repeat(`,{`+march+`}`, schedule.MaxBackfills)[1:]
	_, err := answer[schedule.Description](in, "create", createBody("nightly", `,"triggerNow":true,"backfills":[`+ranges+`]`))
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	in.create("nightly", `,"backfills":[`+ranges+`]`)
	assert.Len(t, in.pending("nightly"), schedule.MaxBackfills)
	count, _ := in.events("nightly", schedule.EventBackfillRequested)
	assert.Equal(t, uint64(schedule.MaxBackfills), count)
}

// TestRoomOfAScheduleThatIsMadeAnew: knowledge about the old schedule says nothing about the new one, which has as many backfills
// as allowed.
func TestRoomOfAScheduleThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.NoError(t, err)
	_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
	require.NoError(t, err)
	in.create("nightly", `,"backfills":[`+strings.Repeat(`,{`+march+`}`, schedule.MaxBackfills)[1:]+`]`)
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err), "%v", err)
}

func TestCancelBackfill(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	reply, err := answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly",`+march+`}`)
	require.NoError(t, err)
	before := in.pending("nightly")[0]
	body := fmt.Sprintf(`{"id":"nightly","backfillId":%q}`, reply.BackfillID)
	_, err = answerTo[schedule.Empty](in, "ann@desk", "cancelBackfill", body)
	require.NoError(t, err)
	want := before
	want.Canceled, want.CanceledBy = true, "ann@desk"
	assert.Equal(t, want, in.pending("nightly")[0])

	wake := &wire.Wake{Incarnation: before.Incarnation, Version: 1, Reason: wire.ReasonCanceled}
	assert.Equal(t, wake, in.wake("nightly", in.backfill("nightly", reply.BackfillID)))
	assert.Equal(t, wake, in.wake("nightly", in.names.InvokeWake(in.store.ShardOf(in.key("nightly")), in.key("nightly"))))
	assert.Nil(t, in.task("nightly", in.backfillTimer("nightly", reply.BackfillID)))

	_, err = answerTo[schedule.Empty](in, "bob", "cancelBackfill", body)
	require.NoError(t, err)
	assert.Equal(t, want, in.pending("nightly")[0], "a repeat changes nothing")
}

func TestCancelBackfillThatIsNotThere(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.NoError(t, err)
	before := in.pending("nightly")
	for _, id := range []string{"x", "a.b", "*", ">", "büro", before[0].ID + "."} {
		_, err := answer[schedule.Empty](in, "cancelBackfill", fmt.Sprintf(`{"id":"nightly","backfillId":%q}`, id))
		var e *schedule.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, schedule.CodeNotFound, e.Code)
		assert.Equal(t, "backfillId", e.Field)
	}
	_, err = answer[schedule.Empty](in, "cancelBackfill", `{"id":"x","backfillId":"x"}`)
	assert.ErrorContains(t, err, "id: ")
	assert.Equal(t, before, in.pending("nightly"))
}

// A backfill of a patch can be canceled before the generator has made a record of it. Then the generator must not make one.
func TestCancelBackfillOfAPatch(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.Description](in, "patch", `{"id":"nightly","backfills":[{`+march+`}]}`)
	require.NoError(t, err)
	request := in.definition("nightly").Requests[0]
	body := fmt.Sprintf(`{"id":"nightly","backfillId":%q}`, request.ID)
	_, err = answerTo[schedule.Empty](in, "ann@desk", "cancelBackfill", body)
	require.NoError(t, err)
	request.Canceled, request.CanceledBy = true, "ann@desk"
	assert.Equal(t, []wire.BackfillState{request}, in.pending("nightly"))

	// Once the generator has seen it, a missing record means that it is over.
	key := kv.Backfill(in.key("nightly"), request.ID)
	record, err := kv.GetLeader(t.Context(), in.store, key)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), in.store, key, record.Revision))
	in.putGenerator("nightly", wire.GeneratorState{Version: 2})
	_, err = answer[schedule.Empty](in, "cancelBackfill", body)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
}

// The backfiller writes the same record while it works: the later writer starts over.
func TestCancelBackfillThatIsBeingWorkedOn(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	reply, err := answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly",`+march+`}`)
	require.NoError(t, err)
	key := kv.Backfill(in.key("nightly"), reply.BackfillID)
	var working sync.WaitGroup
	working.Go(func() {
		for range 127 { // one less than a frontend tries, so that the cancel gets its turn, however slow this machine is
			record, err := kv.GetLeader(context.Background(), in.store, key)
			if !assert.NoError(t, err) {
				return
			}
			record.Value.Handed++
			if _, err := kv.Put(context.Background(), in.store, key, &record.Value, record.Revision); err != nil {
				assert.ErrorIs(t, err, kv.ErrConflict)
			}
		}
	})
	_, err = answer[schedule.Empty](in, "cancelBackfill", fmt.Sprintf(`{"id":"nightly","backfillId":%q}`, reply.BackfillID))
	working.Wait()
	require.NoError(t, err)
	assert.True(t, in.pending("nightly")[0].Canceled)
}

// A frontend that dies after it has marked the record leaves the guard, which wakes the backfiller.
func TestGuardWakesTheBackfillerAfterACrashOfACancel(t *testing.T) {
	t.Parallel()
	in := install(t)
	var crash sync.Map
	in.run(shortGuard, hook(func(_ context.Context, m *nats.Msg) error {
		if _, crashed := crash.Load("now"); crashed && m.Header.Get(task.HeaderAt) == "" {
			return errors.New("crash")
		}
		return nil
	}))
	in.create("nightly", "")
	reply, err := answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly",`+march+`}`)
	require.NoError(t, err)
	crash.Store("now", true)
	_, err = answer[schedule.Empty](in, "cancelBackfill", fmt.Sprintf(`{"id":"nightly","backfillId":%q}`, reply.BackfillID))
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the guard fires", func() bool {
		wake := in.wake("nightly", in.backfill("nightly", reply.BackfillID))
		return wake != nil && wake.Reason == wire.ReasonGuard
	})
}
