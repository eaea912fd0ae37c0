package task_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// setup returns an installation of one shard, and its task stream.
func setup(t *testing.T) (bus.Bus, subjects.Names, jetstream.Stream) {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	to := natstest.Bus(t, js)
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), names.TaskStream(0))
	require.NoError(t, err)
	return to, names, stream
}

func TestTasksAndTimers(t *testing.T) {
	t.Parallel()
	to, names, stream := setup(t)
	key := schedule.Key{Namespace: "default", ID: "s"}
	ctx := telemetry.WithTraceparent(t.Context(), trace)
	wake := wire.Wake{Incarnation: "i", Version: 2, Reason: wire.ReasonRetry}
	requireWake := func(subject string) *jetstream.RawStreamMsg {
		msg, err := stream.GetLastMsgForSubject(ctx, subject)
		require.NoError(t, err)
		var got wire.Wake
		require.NoError(t, codec.Unmarshal(msg.Data, &got))
		require.Equal(t, wake, got)
		return msg
	}

	armed, target := names.RetryTimer(0, key), names.InvokeWake(0, key)
	when := time.Now().Add(time.Hour).UTC()
	require.NoError(t, task.Arm(ctx, to, armed, target, when, &wake))
	msg := requireWake(armed)
	require.Equal(t, "@at "+when.Format(time.RFC3339Nano), msg.Header.Get(task.HeaderAt))
	require.Empty(t, msg.Header.Get(telemetry.HeaderTraceparent), "a timer continues no trace")

	require.NoError(t, task.Publish(ctx, to, target, &wake))
	require.Equal(t, trace, requireWake(target).Header.Get(telemetry.HeaderTraceparent))
	requireWake(armed)

	require.NoError(t, task.PublishAndPurge(ctx, to, target, armed, &wake))
	requireWake(target)
	_, err := stream.GetLastMsgForSubject(ctx, armed)
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound, "the timer is gone")
	require.NoError(t, task.PublishAndPurge(ctx, to, target, armed, &wake), "also where there is none")
}

// TestAGuardIsArmedAgainOnce: what it guards may never come, and nobody would remove it.
func TestAGuardIsArmedAgainOnce(t *testing.T) {
	t.Parallel()
	to, names, stream := setup(t)
	key := schedule.Key{Namespace: "default", ID: "s"}
	armed, target := names.RetryTimer(0, key), names.InvokeWake(0, key)
	guard := wire.Wake{Version: 2, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(time.Hour)}
	now := time.Now().UTC()
	require.NoError(t, task.ArmAgain(t.Context(), to, armed, target, now, guard))
	msg, err := stream.GetLastMsgForSubject(t.Context(), armed)
	require.NoError(t, err)
	require.Equal(t, "@at "+now.Add(time.Hour).Format(time.RFC3339Nano), msg.Header.Get(task.HeaderAt))
	var fired wire.Wake
	require.NoError(t, codec.Unmarshal(msg.Data, &fired))
	require.Equal(t, wire.Wake{Version: 2, Reason: wire.ReasonGuard}, fired)

	require.NoError(t, task.ArmAgain(t.Context(), to, armed, target, now, fired))
	last, err := stream.GetLastMsgForSubject(t.Context(), armed)
	require.NoError(t, err)
	require.Equal(t, msg.Sequence, last.Sequence, "it is not armed a third time")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	to := natstest.Bus(t, js)
	subject := natstest.Names(t).Prefix() + ".nowhere"
	require.ErrorIs(t, task.Publish(t.Context(), to, subject, &wire.Wake{}), jetstream.ErrNoStreamResponse)
	require.Error(t, task.Publish(t.Context(), to, subject, nil))
	require.Error(t, task.Arm(t.Context(), to, subject, subject, time.Now(), nil))
}
