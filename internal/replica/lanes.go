package replica

import (
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
// where its shard has many messages. They are safe for concurrent use; nil are none.
type Lanes struct {
	lanes []jetstream.JetStream
	many  uint64
	used  []atomic.Bool // by shard
}

// NewLanes returns lanes for a number of shards, each of which is used while its shard has so many messages.
func NewLanes(shards int, many uint64, lanes ...jetstream.JetStream) *Lanes {
	return &Lanes{lanes: lanes, many: many, used: make([]atomic.Bool, shards)}
}

// Note takes in how many messages the records of a shard are.
func (l *Lanes) Note(shard int, messages uint64) {
	if l != nil && len(l.lanes) > 0 {
		l.used[shard].Store(messages >= l.many)
	}
}

// Uses reports whether a shard is read by its lane.
func (l *Lanes) Uses(shard int) bool { return l != nil && l.used[shard].Load() }

// Of returns what a shard is read by: its lane, or js.
func (l *Lanes) Of(shard int, js jetstream.JetStream) jetstream.JetStream {
	if l.Uses(shard) {
		return l.lane(shard)
	}
	return js
}

// Open returns the lane of a shard, whether it is used now or not, and js if there are none.
func (l *Lanes) Open(shard int, js jetstream.JetStream) jetstream.JetStream {
	if l == nil || len(l.lanes) == 0 {
		return js
	}
	return l.lane(shard)
}

func (l *Lanes) lane(shard int) jetstream.JetStream { return l.lanes[shard%len(l.lanes)] }

// Readers are those of the shards of an installation. Make them with [NewReaders]. They are safe for concurrent use.
type Readers struct {
	lanes  *Lanes
	main   *Reader
	byLane []*Reader
}

// NewReaders returns readers by js, and by the lanes of the shards that use them.
func NewReaders(js jetstream.JetStream, lanes *Lanes) *Readers {
	r := &Readers{lanes: lanes, main: New(js)}
	if lanes != nil {
		for _, lane := range lanes.lanes {
			r.byLane = append(r.byLane, New(lane))
		}
	}
	return r
}

// Main returns the reader of what belongs to no shard.
func (r *Readers) Main() *Reader { return r.main }

// Of returns the reader of a shard.
func (r *Readers) Of(shard int) *Reader {
	if r.lanes.Uses(shard) {
		return r.byLane[shard%len(r.byLane)]
	}
	return r.main
}
