package worker

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/workerbus"
)

// storingBus takes every message, and has none.
type storingBus struct{ workerbus.Bus }

func (storingBus) Last(context.Context, string, string) ([]byte, error) {
	return nil, jetstream.ErrMsgNotFound
}

func (storingBus) Connected() bool                          { return true }
func (storingBus) Reconnects() uint64                       { return 0 }
func (storingBus) MaxPayload() int64                        { return 1 << 20 }
func (storingBus) Publish(context.Context, *nats.Msg) error { return nil }

// deliveredMsg is a delivery of a request.
type deliveredMsg struct {
	jetstream.Msg
	data   []byte
	number uint64
}

func (m *deliveredMsg) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: m.number}, nil
}
func (m *deliveredMsg) Subject() string                 { return "carillon.action.default.q.wf=201" }
func (m *deliveredMsg) Data() []byte                    { return m.data }
func (m *deliveredMsg) Headers() nats.Header            { return nil }
func (m *deliveredMsg) InProgress() error               { return nil }
func (m *deliveredMsg) DoubleAck(context.Context) error { return nil }

// TestARunThatEndsWhileItComesAgainRunsOnce: NATS delivers a request again, for instance after a restart, and the run ends at any moment while
// the worker looks at the delivery. The moments are when it reads the clock.
func TestARunThatEndsWhileItComesAgainRunsOnce(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(validRequest())
	require.NoError(t, err)
	for moment := range int64(4) {
		t.Run(strconv.FormatInt(moment, 10), func(t *testing.T) {
			t.Parallel()
			w, err := NewOn(storingBus{}, Config{Namespace: "default", TaskQueue: "q"})
			require.NoError(t, err)
			begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			const never = -1 << 32
			var ran, readings atomic.Int64
			readings.Store(never)
			w.now = func() time.Time {
				if readings.Add(1) == moment+1 {
					close(end)
					<-ended
				}
				return time.Now()
			}
			w.Register("t", func(context.Context, *Run) (any, error) {
				if ran.Add(1) == 1 {
					close(begun)
					<-end
				}
				return nil, nil
			})
			receive := func(number uint64) {
				w.slots <- struct{}{}
				p := phases{pull: t.Context(), work: t.Context(), final: t.Context()}
				w.receive(p, &slot{worker: w}, &deliveredMsg{data: data, number: number})
			}
			go func() {
				defer close(ended)
				receive(1)
			}()
			<-begun
			readings.Store(0)
			receive(2)
			if readings.Swap(never) <= moment { // the worker read the clock less often
				close(end)
			}
			<-ended
			require.EqualValues(t, 1, ran.Load())
		})
	}
}
