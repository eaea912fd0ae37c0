package history

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// delivery is an entry from the consumer.
type delivery struct {
	jetstream.Msg
	acked, returned int
}

func (d *delivery) Ack() error { d.acked++; return nil }
func (d *delivery) Nak() error { d.returned++; return nil }

// TestCommits: an entry is acknowledged when its work is done, whichever comes first, and not before. Work that was given up is never taken for
// done, however often the entry comes.
func TestCommits(t *testing.T) {
	t.Parallel()
	c := newCommits("p", nil)
	first, second := c.begin(), c.begin()
	require.NotEqual(t, first, second)
	early := &delivery{}
	require.Equal(t, fatePending, c.deliver(first, early))
	c.settle(first, true)
	require.Equal(t, 1, early.acked)
	c.settle(second, true)
	require.Equal(t, fateDone, c.deliver(second, &delivery{}))

	given := c.begin()
	early = &delivery{}
	require.Equal(t, fatePending, c.deliver(given, early))
	c.settle(given, false)
	require.Equal(t, 1, early.returned)
	for range 3 {
		require.Equal(t, fateOwn, c.deliver(given, &delivery{}), "until it is done")
	}
	again := &delivery{}
	c.hold(again)
	require.Equal(t, []jetstream.Msg{again}, c.delivered())
	c.release(again, given, false)
	require.Equal(t, fateOwn, c.deliver(given, &delivery{}))
	c.release(again, given, true)
	require.Empty(t, c.delivered())
	require.Equal(t, fateDone, c.deliver(given, &delivery{}))

	late := c.begin()
	c.settle(late, false)
	require.Equal(t, fateOwn, c.deliver(late, &delivery{}))
	refused := c.begin()
	c.refused(refused)
	c.settle(refused, false)
	require.NotContains(t, c.left, refused)
	require.Equal(t, fateAsk, c.deliver("q-1", &delivery{}))
	require.Equal(t, fateOwn, c.deliver("", &delivery{}), "nobody knows whose it is")
	pending := c.begin()
	c.leave()
	require.Equal(t, fateOwn, c.deliver(pending, &delivery{}))
}
