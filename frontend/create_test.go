package frontend_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestCreateWritesWakesAndTells(t *testing.T) {
	t.Parallel()
	in := installed(t)
	created := in.create("nightly", `,"requestId":"r1"`)

	def := in.definition("nightly")
	assert.Equal(t, "r1", def.RequestID)
	assert.NotEmpty(t, def.Incarnation)
	assert.Equal(t, created.Info.CreateTime, def.CreateTime)

	assert.Equal(t,
		&wire.Wake{Incarnation: def.Incarnation, Version: 1, Reason: wire.ReasonCreated, Told: true, Created: &def},
		in.wake("nightly", in.generateWake("nightly", 1)))
	assert.Nil(t, in.task("nightly", in.guard("nightly", 1)), "the wake removes the guard")

	count, event := in.events("nightly", schedule.EventCreated)
	assert.Equal(t, uint64(1), count)
	assert.Equal(t, in.key("nightly"), schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID})
	assert.Empty(t, in.pending("nightly"))
}

func TestCreateIsIdempotentByRequestID(t *testing.T) {
	t.Parallel()
	in := installed(t)
	body := `,"requestId":"r1","triggerNow":true`
	first := in.create("nightly", body)
	incarnation := in.definition("nightly").Incarnation
	second := in.create("nightly", body)
	assert.Equal(t, first, second)
	assert.Equal(t, incarnation, in.definition("nightly").Incarnation)
	assert.Equal(t, uint64(1), in.definition("nightly").Version)
	assert.Len(t, in.pending("nightly"), 1)
	count, _ := in.events("nightly", schedule.EventCreated)
	assert.Equal(t, uint64(1), count)

	_, err := answer[schedule.Description](in, "create", createBody("nightly", `,"requestId":"r2"`))
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists})
}

func TestOfConcurrentCreatesOneWins(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	const all = 16
	results := make(chan error, all)
	var running sync.WaitGroup
	for range all {
		running.Go(func() {
			_, err := answer[schedule.Description](in, "create", createBody("nightly", ""))
			results <- err
		})
	}
	running.Wait()
	close(results)
	won := 0
	for err := range results {
		if err == nil {
			won++
			continue
		}
		assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists})
	}
	assert.Equal(t, 1, won)
}

func TestCreateWithTrigger(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", `,"triggerNow":true,"state":{"paused":true}`)
	pending := in.pending("nightly")
	require.Len(t, pending, 1)
	def := in.definition("nightly")
	assert.Equal(t, def.Incarnation, pending[0].Incarnation)
	assert.Equal(t, &schedule.Trigger{}, pending[0].Trigger)
	assert.Equal(t, def.CreateTime, pending[0].RequestTime)
	assert.Equal(t,
		&wire.Wake{Incarnation: def.Incarnation, Version: 1, Reason: wire.ReasonTriggered},
		in.wake("nightly", in.backfill("nightly", pending[0].ID)))
	assert.Nil(t, in.task("nightly", in.backfillTimer("nightly", pending[0].ID)), "the wake removes the guard")
}

// A finished trigger leaves no record. A late repeat of the create request must not run it again.
func TestRepeatedCreateDoesNotTriggerAgain(t *testing.T) {
	t.Parallel()
	in := installed(t)
	body := `,"triggerNow":true,"requestId":"r1"`
	in.create("nightly", body)
	trigger := kv.Backfill(in.key("nightly"), in.pending("nightly")[0].ID)
	record, err := kv.Get(t.Context(), in.store, trigger)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), in.store, trigger, record.Revision))

	in.create("nightly", body)
	assert.Empty(t, in.pending("nightly"))
}

// A frontend that dies after updating a schedule leaves the event to the generator. A late repeat of the create request must not
// claim that the event was stored.
func TestRepeatedCreateDoesNotSpeakOfLaterVersions(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", `,"requestId":"r1"`)
	_, err := answer[schedule.Description](in, "pause", `{"id":"nightly","requestId":"r2"}`)
	require.NoError(t, err)
	in.create("nightly", `,"requestId":"r1"`)
	def := in.definition("nightly")
	assert.Equal(t,
		&wire.Wake{Incarnation: def.Incarnation, Version: 2, Reason: wire.ReasonCreated},
		in.wake("nightly", in.generateWake("nightly", 2)))
}

func TestRefusedCreateLeavesNoTrigger(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.Description](in, "create", createBody("nightly", `,"triggerNow":true`))
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists})
	assert.Empty(t, in.pending("nightly"))
}

// A frontend that cannot publish after the write acts like one that died there.
func TestGuardWakesTheGeneratorAfterACrash(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.run(shortGuard, hook(func(_ context.Context, m *nats.Msg) error {
		if m.Header.Get(task.HeaderAt) != "" {
			return nil
		}
		return errors.New("crash")
	}))
	in.create("nightly", `,"triggerNow":true`)
	trigger := in.pending("nightly")[0].ID
	assert.Nil(t, in.task("nightly", in.generateWake("nightly", 1)))

	natstest.Eventually(t, patience, "the guard fires", func() bool {
		return in.task("nightly", in.generateGuard("nightly", 1)) != nil
	})
	assert.Equal(t, &wire.Wake{Version: 1, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(shortGuardDelay)},
		in.wake("nightly", in.generateGuard("nightly", 1)))
	natstest.Eventually(t, patience, "the guard of the trigger fires", func() bool {
		return in.task("nightly", in.backfill("nightly", trigger)) != nil
	})
	assert.Equal(t, &wire.Wake{Incarnation: in.definition("nightly").Incarnation, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(shortGuardDelay)},
		in.wake("nightly", in.backfill("nightly", trigger)))
}

// Nothing may be written before the guard is armed.
func TestWithoutAGuardNothingIsWritten(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.run(hook(func(_ context.Context, m *nats.Msg) error {
		if strings.Contains(m.Subject, ".timer.") {
			return nats.ErrNoResponders
		}
		return nil
	}))
	_, err := answer[schedule.Description](in, "create", createBody("nightly", ""))
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
	_, err = kv.GetLeader(t.Context(), in.store, kv.Definition(in.key("nightly")))
	assert.ErrorIs(t, err, kv.ErrNotFound)
}

// TestGuardOverATrace: a schedule with the same ID has come and gone since the guard was armed, and its wake has removed the
// guard.
func TestGuardOverATrace(t *testing.T) {
	t.Parallel()
	in := install(t)
	guard := in.names.GuardTimer(in.store.ShardOf(in.key("nightly")), in.key("nightly"), 1)
	armed := 0
	in.run(hook(func(ctx context.Context, m *nats.Msg) error {
		if m.Subject == guard {
			armed++
		}
		return nil
	}))
	in.create("nightly", "")
	require.Equal(t, 1, armed)
	_, err := answer[struct{}](in, "delete", `{"id":"nightly"}`)
	require.NoError(t, err)
	in.create("nightly", "")
	require.Equal(t, 3, armed, "once more when the trace has been found")
}

// TestCreateOverADeletionByAnEarlierRelease: such a trace says what becomes of the runs, and not of which schedule. The record of those runs
// does. Without one there are no runs.
func TestCreateOverADeletionByAnEarlierRelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hasRecord bool
		want      *wire.Deletion
	}{
		"with runs":    {true, &wire.Deletion{Incarnation: "i1", Runs: schedule.RunsTerminate}},
		"without runs": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := installed(t)
			key := in.key("nightly")
			revision, err := kv.Put(t.Context(), in.store, kv.Definition(key), &wire.Definition{Namespace: key.Namespace, ID: key.ID, Incarnation: "i1"}, 0)
			require.NoError(t, err)
			if test.hasRecord {
				_, err := kv.Put(t.Context(), in.store, kv.Invoker(key), &wire.InvokerState{Incarnation: "i1"}, 0)
				require.NoError(t, err)
			}
			note := kv.Note{Deletion: &wire.Deletion{Runs: schedule.RunsTerminate}}
			require.NoError(t, kv.DeleteNoting(t.Context(), in.store, kv.Definition(key), revision, note))
			in.create("nightly", "")
			def := in.definition("nightly")
			assert.Equal(t, test.want, def.Predecessor)
		})
	}
}

const shortGuardDelay = 3*time.Second + 100*time.Millisecond

func shortGuard(c *frontend.Config) { c.RequestTimeout, c.GuardDelay = 3*time.Second, shortGuardDelay }

// If the records cannot be reached, callers are told to try again, and nothing else.
func TestRecordsOutOfReach(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for shard := range in.store.Shards() {
		require.NoError(t, in.js.DeleteKeyValue(t.Context(), in.names.StateBucket(shard)))
	}
	for verb, body := range map[string]string{
		"create": createBody("nightly", ""), "describe": `{"id":"nightly"}`, "list": ``, "pause": `{"id":"nightly"}`,
		"delete": `{"id":"nightly"}`, "trigger": `{"id":"nightly"}`, "update": updateBody("nightly", ""),
		"patch": `{"id":"nightly","pause":{}}`, "skip": `{"id":"nightly","count":1}`, "unskip": `{"id":"nightly"}`,
		"backfill": `{"id":"nightly",` + march + `}`, "cancelBackfill": `{"id":"nightly","backfillId":"x"}`,
	} {
		_, err := answer[schedule.Empty](in, verb, body)
		var e *schedule.Error
		require.ErrorAs(t, err, &e, verb)
		assert.Equal(t, schedule.CodeUnavailable, e.Code, verb)
		assert.Contains(t, e.Message, "try again", verb)
		assert.NotContains(t, e.Message, in.names.StateBucket(0), verb)
	}
}
