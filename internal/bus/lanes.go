package bus

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// LongIndex is how many messages a stream has whose index it takes NATS some hundredths of a second to write.
const LongIndex = 100_000

// Lanes are connections that do nothing but read the streams of shards: shard i has the lane i modulo their number.
//
// A server answers a read before it takes anything else from the connection that it came by, and nobody reads a stream while the
// server writes its index, which takes some tenths of a second where there are half a million subjects. By a lane of its own, what
// waits is that shard, and not the process. But a connection that carries much else takes reads along at less cost. So a lane is used
// where its shard has many messages, and opened when the first of its shards has. They are safe for concurrent use; nil are none.
type Lanes struct {
	many uint64
	open func(ctx context.Context, lane int) jetstream.JetStream
	used []atomic.Bool // by shard

	opening sync.Mutex
	lanes   []atomic.Pointer[jetstream.JetStream] // nil until they are needed
}

// NewLanes returns that many lanes, at least one, for a number of shards, each of which uses its lane while it has so many messages.
// Open opens a lane. If that fails it tells of it and returns nil; it is called again when a shard is noted the next time.
func NewLanes(lanes, shards int, many uint64, open func(ctx context.Context, lane int) jetstream.JetStream) *Lanes {
	return &Lanes{
		many: many, open: open, used: make([]atomic.Bool, shards), lanes: make([]atomic.Pointer[jetstream.JetStream], lanes),
	}
}

// Note takes in how many messages the records of a shard are. It opens the lane of the shard if that is needed now.
func (l *Lanes) Note(ctx context.Context, shard int, messages uint64) {
	if l != nil {
		l.used[shard].Store(messages >= l.many && l.opened(ctx, l.lane(shard)))
	}
}

// opened opens a lane, unless it has been opened before.
func (l *Lanes) opened(ctx context.Context, lane int) bool {
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.lanes[lane].Load() != nil {
		return true
	}
	js := l.open(ctx, lane)
	if js == nil {
		return false
	}
	l.lanes[lane].Store(&js)
	return true
}

// Uses reports whether a shard is read by its lane.
func (l *Lanes) Uses(shard int) bool { return l != nil && l.used[shard].Load() }

// Of returns what a shard is read by: its lane, or js.
func (l *Lanes) Of(shard int, js jetstream.JetStream) jetstream.JetStream {
	if l.Uses(shard) {
		return *l.lanes[l.lane(shard)].Load()
	}
	return js
}

func (l *Lanes) lane(shard int) int { return shard % len(l.lanes) }

// Readers are those of the shards of an installation. Make them with [NewReaders]. They are safe for concurrent use.
type Readers struct {
	lanes  *Lanes
	main   *Reader
	byLane sync.Map // of a lane to its *Reader
}

// NewReaders returns readers by js, and by the lanes of the shards that use them.
func NewReaders(js jetstream.JetStream, lanes *Lanes) *Readers {
	return &Readers{lanes: lanes, main: NewReader(js)}
}

// Main returns the reader of what belongs to no shard.
func (r *Readers) Main() *Reader { return r.main }

// Of returns the reader of a shard.
func (r *Readers) Of(shard int) *Reader {
	js := r.lanes.Of(shard, r.main.js)
	if js == r.main.js {
		return r.main
	}
	reader, known := r.byLane.Load(js)
	if !known {
		reader, _ = r.byLane.LoadOrStore(js, NewReader(js))
	}
	return reader.(*Reader)
}
