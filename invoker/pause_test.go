package invoker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAPauseOnFailureThatNobodyIsWokenFor: the process dies when it has written the pause. Its guard wakes the generator a moment later.
func TestAPauseOnFailureThatNobodyIsWokenFor(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, pauseOnFailure)
	guard := s.names.GuardTimer(0, s.key, 2)
	invokers := s.newPool(func(c *invoker.Config) {
		c.Bus = wakesNoGenerator{Bus: s.bus(), wake: s.names.GenerateWake(0, s.key, 2)}
	})
	e := s.handOff("", 1)
	s.handle(invokers, invoker.Message{Enqueue: &e})
	run := s.take()
	failed := completionOf(run)
	failed.Completion.Status = schedule.StatusFailed
	require.ErrorIs(t, invokers.Handle(t.Context(), s.key, s.group(false, failed)).Err(), nats.ErrTimeout)
	require.True(t, s.definition().Schedule.State.Paused)
	stream, err := s.js.Stream(t.Context(), s.names.TaskStream(0))
	require.NoError(t, err)
	armed, err := stream.GetLastMsgForSubject(t.Context(), guard)
	require.NoError(t, err)
	at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(armed.Header.Get(task.HeaderAt), "@at "))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, 15*time.Second)
	require.Equal(t, s.names.GenerateGuard(0, s.key, s.definition().Version), armed.Header.Get(task.HeaderTarget))
}

// wakesNoGenerator is the bus of a process that dies before it wakes the generator.
type wakesNoGenerator struct {
	bus.Bus
	wake string
}

func (b wakesNoGenerator) Publish(ctx context.Context, msg *nats.Msg) error {
	if msg.Subject == b.wake {
		return nats.ErrTimeout
	}
	return b.Bus.Publish(ctx, msg)
}
