package bus_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func connect(t *testing.T) jetstream.JetStream {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	return js
}

func TestLanes(t *testing.T) {
	t.Parallel()
	js, own := connect(t), []jetstream.JetStream{connect(t), connect(t)}
	var opened []int
	lanes := bus.NewLanes(2, 4, 10, func(_ context.Context, lane int) jetstream.JetStream {
		opened = append(opened, lane)
		return own[lane]
	})
	readers := bus.NewReaders(js, lanes)
	for shard := range 4 {
		lanes.Note(t.Context(), shard, 9)
		assert.Same(t, js, lanes.Of(shard, js), "it is small")
		assert.Same(t, readers.Main(), readers.Of(shard))
	}
	assert.Empty(t, opened, "none is needed yet")
	for shard := range 4 {
		lanes.Note(t.Context(), shard, 10)
		assert.True(t, lanes.Uses(shard))
		assert.Same(t, own[shard%2], lanes.Of(shard, js))
	}
	assert.Equal(t, []int{0, 1}, opened, "each once")
	assert.Same(t, readers.Of(0), readers.Of(2))
	assert.NotSame(t, readers.Of(0), readers.Of(1))
	assert.NotSame(t, readers.Of(0), readers.Main())
	lanes.Note(t.Context(), 2, 9)
	assert.Same(t, js, lanes.Of(2, js), "it has become small")
	assert.Same(t, own[0], lanes.Of(0, js))
}

// TestALaneThatCannotBeOpened: its shard is read as before, until it can be.
func TestALaneThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	js, own := connect(t), jetstream.JetStream(nil)
	lanes := bus.NewLanes(1, 1, 10, func(context.Context, int) jetstream.JetStream { return own })
	lanes.Note(t.Context(), 0, 10)
	assert.False(t, lanes.Uses(0))
	assert.Same(t, js, lanes.Of(0, js))
	own = connect(t)
	lanes.Note(t.Context(), 0, 10)
	assert.Same(t, own, lanes.Of(0, js))
}

func TestNoLanes(t *testing.T) {
	t.Parallel()
	js, none := connect(t), (*bus.Lanes)(nil)
	none.Note(t.Context(), 3, 10)
	assert.False(t, none.Uses(3))
	assert.Same(t, js, none.Of(3, js))
	readers := bus.NewReaders(js, none)
	assert.Same(t, readers.Main(), readers.Of(3))
}
