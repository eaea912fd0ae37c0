package kv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// singleAge is how long NATS's answer about the replicas of a bucket is trusted. An operator may add replicas in that time, but new
// replicas answer reads only after they have caught up.
const singleAge = 10 * time.Second

// singleReplica knows whether a bucket has one replica. It is safe for concurrent use.
type singleReplica struct {
	known  atomic.Pointer[replicas]
	asking sync.Mutex
	// heard receives each answer of NATS.
	heard func(context.Context, jetstream.KeyValueStatus)
}

// replicas is an answer of NATS, and until when it is trusted.
type replicas struct {
	single bool
	until  time.Time
}

// is reports whether the bucket has one replica, as far as is known. Now and then one caller asks NATS; the other callers do not wait for
// the answer.
func (s *singleReplica) is(ctx context.Context, bucket jetstream.KeyValue) bool {
	if known := s.known.Load(); known != nil && time.Now().Before(known.until) { //permit:time.Now the age of an answer of NATS
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
	until := time.Now().Add(singleAge) //permit:time.Now the age of an answer of NATS
	s.known.Store(&replicas{single: status.Config().Replicas == 1, until: until})
	return s.known.Load().single
}
