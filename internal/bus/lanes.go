package bus

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// LongIndex is the number of messages from which NATS takes some hundredths of a second to write the index of a stream.
const LongIndex = 100_000

// Lanes are connections that only read the streams of shards. Shard i has lane i modulo the number of lanes.
//
// A server answers the reads of a connection one after the other, and takes nothing else from the connection meanwhile. No stream can be
// read while the server writes its index, which takes some tenths of a second for half a million subjects. With a lane, only that shard
// waits, not the whole process. A lane costs more than reads through the busy main connection. So a shard uses its lane only if it has
// many messages, and a lane is opened when the first of its shards needs it.
//
// Lanes are safe for concurrent use. A nil *Lanes means that there are none.
type Lanes struct {
	many uint64
	open func(ctx context.Context, lane int) jetstream.JetStream
	used []atomic.Bool // by shard

	opening sync.Mutex
	lanes   []atomic.Pointer[jetstream.JetStream] // nil until they are needed
}

// NewLanes returns a number of lanes, at least one, for a number of shards. A shard uses its lane while it has at least many messages.
// The function open opens a lane. If it fails, it logs the reason and returns nil; it is called again at the next [Lanes.Note].
func NewLanes(lanes, shards int, many uint64, open func(ctx context.Context, lane int) jetstream.JetStream) *Lanes {
	return &Lanes{
		many: many, open: open, used: make([]atomic.Bool, shards), lanes: make([]atomic.Pointer[jetstream.JetStream], lanes),
	}
}

// Note records how many messages the records of a shard take. It opens the lane of the shard if the shard needs one now.
func (l *Lanes) Note(ctx context.Context, shard int, messages uint64) {
	if l != nil {
		l.used[shard].Store(messages >= l.many && l.opened(ctx, l.lane(shard)))
	}
}

// opened opens a lane unless it is open already, and reports whether it is open now.
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

// Uses reports whether a shard is read through its lane.
func (l *Lanes) Uses(shard int) bool { return l != nil && l.used[shard].Load() }

// Of returns the lane of a shard if the shard uses it, else js.
func (l *Lanes) Of(shard int, js jetstream.JetStream) jetstream.JetStream {
	if l.Uses(shard) {
		return *l.lanes[l.lane(shard)].Load()
	}
	return js
}

func (l *Lanes) lane(shard int) int { return shard % len(l.lanes) }

// Readers read the streams of the shards of an installation. Make them with [NewReaders]. They are safe for concurrent use.
type Readers struct {
	lanes  *Lanes
	main   *Reader
	byLane sync.Map // of a lane to its *Reader
}

// NewReaders returns readers that read through the lanes of the shards that use them, and through js otherwise.
func NewReaders(js jetstream.JetStream, lanes *Lanes) *Readers {
	return &Readers{lanes: lanes, main: NewReader(js)}
}

// Main returns the reader for streams that belong to no shard.
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
