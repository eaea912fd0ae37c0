package worker

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/workerbus"
	"github.com/carillon-scheduler/carillon/schedule"
)

// lostBus is a connection that was lost and is there again; its control stream answers some time later. It has nothing else.
type lostBus struct {
	workerbus.Bus
	from    time.Time // when the stream answers
	control schedule.Control
	reads   int
}

func (b *lostBus) Reconnects() uint64 {
	if b.reads == 0 && time.Until(b.from) > time.Minute {
		return 0 // the connection has not been lost yet
	}
	return 1
}

func (b *lostBus) Last(context.Context, string, string) ([]byte, error) {
	b.reads++
	if time.Now().Before(b.from) {
		return nil, jetstream.ErrNoStreamResponse
	}
	return json.Marshal(&b.control)
}

// TestControlsAreSoughtUntilTheyAreRead: what was asked of a run while the connection was lost is found, also where the stream does not
// answer at first.
func TestControlsAreSoughtUntilTheyAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		request := validRequest()
		bus := &lostBus{from: time.Now().Add(70 * time.Second), control: schedule.Control{
			Kind: schedule.ControlTerminate, RequestID: request.RequestID, RunID: request.RunID, WorkflowID: request.WorkflowID,
		}}
		w, err := NewOn(bus, Config{Namespace: request.Namespace, TaskQueue: request.TaskQueue})
		require.NoError(t, err)
		h := newHeld(t.Context(), nil, request, 1)
		require.True(t, w.held.admit(h))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.recoverControls(ctx, 5*time.Second) }()
		select {
		case <-h.terminated:
		case <-time.After(10 * time.Minute):
			t.Error("the run was never told")
		}
		require.Greater(t, bus.reads, controlReads, "the stream did not answer at first")
		cancel()
		<-ended
	})
}
