package events

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestCursorMissesNothingThatIsLostOnTheWay: the server takes what it has sent for read, also where the connection was lost
// just then.
func TestCursorMissesNothingThatIsLostOnTheWay(t *testing.T) {
	t.Parallel()
	const all = 10
	for name, test := range map[string]struct{ read, lost int }{
		"at the beginning": {0, 3},
		"in the middle":    {4, 2},
		"at the end":       {6, 4},
		"all":              {0, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, query := reader(t, all)
			c, err := r.open(t.Context(), &query, position{}, max(test.read, 1))
			require.NoError(t, err)
			defer func() { c.close(t.Context()) }()
			var read []uint64
			next := func() bool {
				entry, ok, err := c.next(t.Context())
				require.NoError(t, err)
				read = append(read, entry.Sequence)
				return ok
			}
			for range test.read {
				require.True(t, next())
			}
			lost, err := c.consumer.Fetch(test.lost)
			require.NoError(t, err)
			for range lost.Messages() {
			}
			for range all - test.read {
				require.True(t, next(), "%v", read)
			}
			require.False(t, next())
			require.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0}, read)
		})
	}
}

// TestCursorOutlivesItsConsumer which the node that had it takes with it.
func TestCursorOutlivesItsConsumer(t *testing.T) {
	t.Parallel()
	r, query := reader(t, 3)
	c, err := r.open(t.Context(), &query, position{}, 1)
	require.NoError(t, err)
	defer func() { c.close(t.Context()) }()
	for want := range uint64(3) {
		entry, ok, err := c.next(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want+1, entry.Sequence)
		if want == 0 {
			require.NoError(t, r.js.DeleteConsumer(t.Context(), r.names.EventStream(), c.consumer.CachedInfo().Name))
		}
	}
}

// reader reads a history of so many events.
func reader(t *testing.T, count int) (*Reader, Query) {
	t.Helper()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: names.EventStream(), Subjects: []string{names.Events(schedule.Key{})}})
	require.NoError(t, err)
	key := schedule.Key{Namespace: "default", ID: "s"}
	publisher := NewPublisher(natstest.Bus(t, js), names, nil)
	for i := range count {
		require.NoError(t, publisher.Publish(t.Context(), schedule.Event{
			ID: fmt.Sprintf("s-%d", i), Kind: schedule.EventStarted, Namespace: key.Namespace, ScheduleID: key.ID,
		}))
	}
	return NewReader(js, names), Query{Key: key}
}
