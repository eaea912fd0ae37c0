package frontend_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// haveRuns writes an invoker's record with one run in progress, one that has ended and one that waits.
func (in *installation) haveRuns(id string, status schedule.Status) {
	in.t.Helper()
	start := func(name string, phase schedule.Phase, status schedule.Status) wire.BufferedStart {
		return wire.BufferedStart{RequestID: name, RunID: "run-" + name, WorkflowID: id + "-" + name, Phase: phase, Status: status}
	}
	_, err := kv.Put(in.t.Context(), in.store, kv.Invoker(in.key(id)), &wire.InvokerState{
		Incarnation: in.definition(id).Incarnation,
		Starts: []wire.BufferedStart{
			start("ended", schedule.PhaseCompleted, status), start("going", schedule.PhaseStarted, ""),
			start("waiting", schedule.PhaseDeferred, ""),
		},
	}, 0)
	require.NoError(in.t, err)
}

func TestEndRun(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	in.haveRuns("nightly", schedule.StatusFailed)
	reply, err := answerTo[schedule.EndRunReply](in, "ann@desk", "cancelRun", `{"id":"nightly","run":"nightly-going","reason":"stuck"}`)
	require.NoError(t, err)
	assert.Equal(t, "run-going", reply.Run.RunID)
	assert.Equal(t, "nightly", reply.Run.ScheduleID)
	_, err = answerTo[schedule.EndRunReply](in, "bob@desk", "terminateRun", `{"id":"nightly","run":"run-going"}`)
	require.NoError(t, err)

	key, def := in.key("nightly"), in.definition("nightly")
	for kind, want := range map[schedule.ControlKind]wire.EndRun{
		schedule.ControlCancel:    {Reason: "stuck", Identity: "ann@desk"},
		schedule.ControlTerminate: {Identity: "bob@desk"},
	} {
		message := in.task("nightly", in.names.InvokeEnd(in.store.ShardOf(key), key, kind, "going"))
		require.NotNil(t, message, kind)
		var end wire.EndRun
		require.NoError(t, codec.Unmarshal(message.Data, &end))
		want.Kind, want.RequestID, want.Incarnation, want.Version = kind, "going", def.Incarnation, def.Version
		assert.Equal(t, want, end)
	}
}

func TestEndRunThatIsNone(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	for body, want := range map[string]string{
		`{"id":"nightly","run":"x"}`:                       `run: schedule "nightly" has no run "x" in progress`,
		`{"id":"nobody","run":"x"}`:                        `id: namespace "default" has no schedule "nobody"`,
		`{"id":"nightly"}`:                                 "run: is missing",
		`{"id":"nightly","run":"x","requestId":"a\u0000"}`: "requestId: ",
		`{"id":"nightly","run":"x","reason":"` + strings.Repeat("x", schedule.MaxNoteBytes+1) + `"}`: "reason: ",
	} {
		_, err := answer[schedule.EndRunReply](in, "cancelRun", body)
		assert.ErrorContains(t, err, want, body)
	}
	in.haveRuns("nightly", schedule.StatusFailed)
	_, err := answer[schedule.EndRunReply](in, "terminateRun", `{"id":"nightly","run":"run-ended"}`)
	assert.EqualError(t, err, `run: "run-ended" has ended already, as failed`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	_, err = answer[schedule.EndRunReply](in, "terminateRun", `{"id":"nightly","run":"waiting"}`)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err), "what waits to start is no run")
}

// TestEndRunRepeated: a caller that has not received the answer asks again, when the run may be over.
func TestEndRunRepeated(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	in.haveRuns("nightly", schedule.StatusTerminated)
	for _, verb := range []string{"cancelRun", "terminateRun"} {
		reply, err := answer[schedule.EndRunReply](in, verb, `{"id":"nightly","run":"run-ended"}`)
		require.NoError(t, err)
		assert.Equal(t, schedule.StatusTerminated, reply.Run.Status)
	}
}
