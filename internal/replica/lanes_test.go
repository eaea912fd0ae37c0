package replica_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/replica"
)

func TestLanes(t *testing.T) {
	t.Parallel()
	connect := func() jetstream.JetStream {
		_, js := natstest.Connect(t, natstest.Shared(t))
		return js
	}
	js, own := connect(), []jetstream.JetStream{connect(), connect()}
	lanes := replica.NewLanes(4, 10, own...)
	readers := replica.NewReaders(js, lanes)
	for shard := range 4 {
		lane := own[shard%2]
		assert.Same(t, lane, lanes.Open(shard, js))
		assert.Same(t, js, lanes.Of(shard, js), "nothing is known of it yet")
		assert.Same(t, readers.Main(), readers.Of(shard))
		lanes.Note(shard, 10)
		assert.Same(t, lane, lanes.Of(shard, js))
	}
	assert.Same(t, readers.Of(0), readers.Of(2))
	assert.NotSame(t, readers.Of(0), readers.Of(1))
	assert.NotSame(t, readers.Of(0), readers.Main())
	lanes.Note(2, 9)
	assert.Same(t, js, lanes.Of(2, js), "it has become small")
	assert.Same(t, own[0], lanes.Of(0, js))
}

func TestNoLanes(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	for _, none := range []*replica.Lanes{nil, replica.NewLanes(4, 10)} {
		none.Note(3, 10)
		assert.False(t, none.Uses(3))
		assert.Same(t, js, none.Of(3, js))
		assert.Same(t, js, none.Open(3, js))
		readers := replica.NewReaders(js, none)
		assert.Same(t, readers.Main(), readers.Of(3))
	}
}
