package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

const severalThings = `{"id":"nightly","requestId":"r1","pause":{"note":"maintenance"},"trigger":{"note":"once more"},
	"backfills":[{"start":"2026-03-01T00:00:00Z","end":"2026-03-02T00:00:00Z","note":"gap"}],"skip":{"count":2,"note":"upgrade"}}`

func TestPatchDoesSeveralThingsAtOnce(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	before := in.definition("nightly")
	patched, err := answerTo[schedule.Description](in, "ann@desk", "patch", severalThings)
	require.NoError(t, err)
	assert.Equal(t, uint64(2), patched.ConflictToken)
	assert.True(t, patched.State.Paused)
	assert.Equal(t, "maintenance", patched.State.Notes)

	def := in.definition("nightly")
	assert.Equal(t, uint64(2), def.Version, "it is one change")
	assert.Equal(t, "ann@desk", def.PausedBy)
	assert.Len(t, def.Skips, 2)
	assert.True(t, def.UpdateTime.IsZero())
	assert.Equal(t, before.LimitVersion, def.LimitVersion)
	require.Len(t, def.Requests, 2)
	assert.Equal(t, "once more", def.Requests[0].Trigger.Note)
	assert.Equal(t, "gap", def.Requests[1].Range.Note)
	for _, request := range def.Requests {
		assert.Equal(t, uint64(2), request.Version)
		assert.Equal(t, "ann@desk", request.Identity)
		assert.Equal(t, "r1", request.RequestID)
	}
	assert.Empty(t, in.pending("nightly"), "the generator makes the records")

	assert.Equal(t,
		&wire.Wake{Incarnation: def.Incarnation, Version: 2, Reason: wire.ReasonPaused, Told: true},
		in.wake("nightly", in.generateWake("nightly", 2)))
	assert.Nil(t, in.task("nightly", in.guard("nightly", 2)))

	reasons := map[schedule.EventKind]string{}
	for _, event := range in.history("nightly")[1:] {
		reasons[event.Kind] = event.Reason
		assert.Equal(t, "ann@desk", event.Identity)
		assert.Equal(t, "r1", event.RequestID)
	}
	assert.Equal(t, map[schedule.EventKind]string{
		schedule.EventPaused: "maintenance", schedule.EventSkipRequested: "upgrade",
		schedule.EventTriggered: "once more", schedule.EventBackfillRequested: "gap",
	}, reasons)
}

// If one part of a patch is refused, nothing of it is done.
func TestPatchDoesAllOrNothing(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	before, history := in.definition("nightly"), in.history("nightly")
	ranges := strings.Repeat(`,{"start":"2026-03-01T00:00:00Z","end":"2026-03-02T00:00:00Z"}`, 100)[1:]
	for _, test := range []struct {
		name, body string
		code       schedule.Code
		field      string
	}{
		{"a time that is none", `{"id":"nightly","pause":{},"trigger":{},"skip":{"times":["2026-01-01T00:00:00Z"]}}`,
			"invalid_argument", "skip.times[0]"},
		{"a stale token", `{"id":"nightly","pause":{},"conflictToken":9}`, "failed_precondition", "conflictToken"},
		{"too many starts", `{"id":"nightly","pause":{},"trigger":{},"backfills":[` + ranges + `]}`, "invalid_argument", "backfills"},
		{"both", `{"id":"nightly","pause":{},"unpause":{}}`, "invalid_argument", "unpause"},
		{"nothing", `{"id":"nightly"}`, "invalid_argument", ""},
		{"a bad trigger", `{"id":"nightly","pause":{},"trigger":{"overlap":"maybe"}}`, "invalid_argument", "trigger.overlap"},
		{"an unknown schedule", `{"id":"x","pause":{}}`, "not_found", "id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := answer[schedule.Description](in, "patch", test.body)
			var e *schedule.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, test.code, e.Code)
			assert.Equal(t, test.field, e.Field)
			assert.Equal(t, before, in.definition("nightly"))
			assert.Equal(t, history, in.history("nightly"))
		})
	}
}

func TestPatchCountsWhatIsPending(t *testing.T) {
	t.Parallel()
	in := installed(t)
	ranges := func(n int) string {
		return strings.Repeat(`,{"start":"2026-03-01T00:00:00Z","end":"2026-03-02T00:00:00Z"}`, n)[1:]
	}
	in.create("nightly", `,"triggerNow":true,"backfills":[`+ranges(59)+`]`)
	require.Len(t, in.pending("nightly"), 60)
	patch := func(n int) error {
		_, err := answer[schedule.Description](in, "patch", `{"id":"nightly","backfills":[`+ranges(n)+`]}`)
		return err
	}
	require.NoError(t, patch(39))
	err := patch(2)
	require.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
	assert.ErrorContains(t, err, "has 99 pending")
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":"last"}`)
	require.NoError(t, err)
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly","requestId":"last"}`)
	require.NoError(t, err, "a repeat is none more")
	_, err = answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly",`+ranges(1)[1:])
	require.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))

	// The definition no longer has what the generator has seen.
	in.putGenerator("nightly", wire.GeneratorState{Version: in.definition("nightly").Version})
	_, err = answer[schedule.Empty](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err)
	assert.Empty(t, in.definition("nightly").Requests)
}

func TestPatchTooLargeForNATS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector takes long over large messages, and nothing meets in them")
	}
	in := installed(t, patient)
	in.create("nightly", "")
	// Earlier patches have left hardly any room.
	record, err := kv.GetLeader(t.Context(), in.store, kv.Definition(in.key("nightly")))
	require.NoError(t, err)
	large := []byte(`"` + strings.Repeat("x", int(in.conn.MaxPayload())-64<<10) + `"`)
	record.Value.Requests = []wire.BackfillState{{
		Incarnation: record.Value.Incarnation, ID: "before", Version: 1, Trigger: &schedule.Trigger{Input: large},
	}}
	_, err = kv.Put(t.Context(), in.store, kv.Definition(in.key("nightly")), &record.Value, record.Revision)
	require.NoError(t, err)

	trigger := `{"id":"nightly","trigger":{"input":"` + strings.Repeat("x", 100<<10) + `"}}`
	_, err = answer[schedule.Description](in, "patch", trigger)
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), "%v", err)
	assert.ErrorContains(t, err, "larger than NATS accepts")
	assert.Equal(t, record.Value, in.definition("nightly"))

	// As soon as the generator has seen the requests, there is room again.
	in.putGenerator("nightly", wire.GeneratorState{Version: 1})
	_, err = answer[schedule.Description](in, "patch", trigger)
	require.NoError(t, err)
	requests := in.definition("nightly").Requests
	require.Len(t, requests, 1)
	assert.NotEqual(t, "before", requests[0].ID)
}

// A frontend that dies after writing the definition leaves the guard. The pools do the rest.
func TestPatchSurvivesACrash(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.runPools()
	var crash sync.Map
	in.run(shortGuard, hook(func(_ context.Context, m *nats.Msg) error {
		if _, crashed := crash.Load("now"); crashed && m.Header.Get(task.HeaderAt) == "" {
			return errors.New("crash")
		}
		return nil
	}))
	in.create("nightly", "")
	crash.Store("now", true)
	_, err := answer[schedule.Description](in, "patch", severalThings)
	require.NoError(t, err)
	require.Nil(t, in.task("nightly", in.generateWake("nightly", 2)))
	require.Empty(t, in.pending("nightly"))

	requests := in.definition("nightly").Requests
	require.Len(t, requests, 2)
	want := map[string]int{requests[0].ID: 1, requests[1].ID: 0} // the invoker, which does not run, gets the range first
	natstest.Eventually(t, patience, "the requests are handed over", func() bool {
		return reflect.DeepEqual(want, in.handedOver("nightly"))
	})
	for _, record := range in.pending("nightly") {
		assert.Equal(t, uint64(2), record.Version)
		assert.Contains(t, want, record.ID)
	}
}

// handedOver returns how many starts each trigger and backfill has handed to the invoker, which does not run.
func (in *installation) handedOver(id string) map[string]int {
	in.t.Helper()
	shard := in.store.ShardOf(in.key(id))
	stream, err := in.js.Stream(in.t.Context(), in.names.TaskStream(shard))
	require.NoError(in.t, err)
	wake := in.names.InvokeWake(shard, in.key(id))
	all, subject := map[string]int{}, wake[:strings.LastIndexByte(wake, '.')+1]+">"
	for next := uint64(1); ; {
		message, err := stream.GetMsg(in.t.Context(), next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all
		}
		require.NoError(in.t, err)
		next = message.Sequence + 1
		if message.Subject == wake {
			continue
		}
		var enqueue wire.Enqueue
		require.NoError(in.t, codec.Unmarshal(message.Data, &enqueue))
		if enqueue.Source != schedule.SourceAuto {
			all[enqueue.Source] = len(enqueue.Starts)
		}
	}
}

// runPools runs the pools that finish a patch, until the end of the test.
func (in *installation) runPools() {
	in.t.Helper()
	_, js := natstest.Connect(in.t, natstest.Shared(in.t))
	logger := natstest.Logger(in.t)
	generators, err := generator.New(generator.Config{Config: pool.Config{Bus: bus.New(js), Store: in.store, Names: in.names, Logger: logger}})
	require.NoError(in.t, err)
	backfillers, err := backfiller.New(pool.Config{Bus: bus.New(js), Store: in.store, Names: in.names, Logger: logger})
	require.NoError(in.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return generators.Run(ctx) })
	group.Go(func() error { return backfillers.Run(ctx) })
	in.t.Cleanup(func() {
		cancel()
		assert.NoError(in.t, group.Wait())
	})
}

// Nothing is lost, however many callers patch at the same time.
func TestConcurrentPatchesAllCount(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.create("nightly", "")
	const all = 20
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() {
			_, err := answer[schedule.Description](in, "patch",
				fmt.Sprintf(`{"id":"nightly","trigger":{"note":"%d"},"skip":{"count":1},"requestId":"r%d"}`, i, i))
			assert.NoError(t, err)
		})
	}
	running.Wait()
	def := in.definition("nightly")
	assert.Equal(t, uint64(1+all), def.Version)
	assert.Len(t, def.Requests, all)
	assert.Len(t, def.Skips, all)
	triggered, _ := in.events("nightly", schedule.EventTriggered)
	assert.Equal(t, uint64(all), triggered)
}
