package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// TestOverdue: who has waited for five whole rounds gets an error in the next, and nobody else does. There is a next one as long as
// somebody waits.
func TestOverdue(t *testing.T) {
	t.Parallel()
	enter := func(a *acks, id uint64) <-chan ackAnswer {
		answered := make(chan ackAnswer, 1)
		a.waiting[id] = waiter{answered, a.round}
		a.lookLater()
		return answered
	}
	a := &acks{waiting: map[uint64]waiter{}, rounds: time.NewTimer(time.Hour)}
	early := enter(a, 1)
	a.expire()
	late := enter(a, 2)
	for range ackRounds - 1 {
		a.expire()
		require.Empty(t, early)
	}
	a.expire()
	require.ErrorIs(t, (<-early).err, jetstream.ErrAsyncPublishTimeout)
	require.Empty(t, late)
	require.True(t, a.set)
	a.expire()
	require.ErrorIs(t, (<-late).err, jetstream.ErrAsyncPublishTimeout)
	require.Empty(t, a.waiting)
	require.False(t, a.set)
	enter(a, 3)
	require.True(t, a.set)
}
