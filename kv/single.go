package kv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// singleAge is for how long it counts what NATS has said of the replicas of a bucket. Somebody may add some meanwhile; those
// answer reads only when they have caught up.
const singleAge = 10 * time.Second

// singleReplica knows whether a bucket has one replica. It is safe for concurrent use.
type singleReplica struct {
	known  atomic.Pointer[replicas]
	asking sync.Mutex
	// heard is told what NATS has said.
	heard func(context.Context, jetstream.KeyValueStatus)
}

// replicas is what NATS has said, and until when it counts.
type replicas struct {
	single bool
	until  time.Time
}

// is reports whether the bucket has one replica, as far as that is known: one caller asks NATS now and then, and the others
// do not wait for the answer.
func (s *singleReplica) is(ctx context.Context, bucket jetstream.KeyValue) bool {
	if known := s.known.Load(); known != nil && time.Now().Before(known.until) {
		return known.single
	}
	if !s.asking.TryLock() {
		return false
	}
	defer s.asking.Unlock()
	status, err := bucket.Status(ctx)
	if err != nil {
		return false
	}
	s.heard(ctx, status)
	s.known.Store(&replicas{single: status.Config().Replicas == 1, until: time.Now().Add(singleAge)})
	return s.known.Load().single
}
