package bus_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// TestRemoveWhatIsNotThere: one that somebody else has removed, and one that has never been, are no errors; what the stream
// does not let go of is.
func TestRemoveWhatIsNotThere(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	b := natstest.Bus(t, js)
	// The first stream stays: a server removes the folder of all streams after the last one, in the way of tests beside this one.
	for _, denied := range []bool{true, false} {
		name := natstest.Names(t).Prefix() + map[bool]string{true: "-denied"}[denied]
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name}, DenyDelete: denied})
		require.NoError(t, err)
		ack, err := js.Publish(t.Context(), name, []byte("x"))
		require.NoError(t, err)
		if denied {
			require.ErrorIs(t, b.Remove(t.Context(), name, ack.Sequence), jetstream.ErrMsgDeleteUnsuccessful)
			continue
		}
		for range 2 {
			require.NoError(t, b.Remove(t.Context(), name, ack.Sequence))
		}
		require.NoError(t, b.Remove(t.Context(), name, ack.Sequence+100))
		require.NoError(t, js.DeleteStream(t.Context(), name))
		require.ErrorIs(t, b.Remove(t.Context(), name, 1), jetstream.ErrStreamNotFound)
	}
}
