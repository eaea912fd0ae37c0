package bus

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// held is what nats.go is while the goroutine that asks for messages is held up: a call that began then gets none.
type held struct {
	jetstream.MessagesContext
	until time.Time
	calls int
}

func (h *held) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	h.calls++
	if time.Now().Before(h.until) {
		time.Sleep(askAgain) // in a bubble: what NextMaxWait would do
		return nil, nats.ErrTimeout
	}
	return taken{}, nil
}

// taken is a message of no interest.
type taken struct{ jetstream.Msg }

func (taken) Subject() string { return "carillon.task.0.invoke.default.s.wake" }

// TestNextAsksAgain: the race itself is within nats.go and takes a goroutine that is not scheduled for milliseconds; `carillon
// bench inflight --runs 1000` beside a busy disk met it in one run of twelve.
func TestNextAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &held{until: time.Now().Add(time.Millisecond)}
		_, err := pulled{MessagesContext: h}.Next(context.Background())
		require.NoError(t, err)
		require.Equal(t, 2, h.calls)
	})
}
