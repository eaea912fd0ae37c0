package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// recordWrites counts how often a record is written. It listens to the messages on the subject of the record: the bucket keeps
// the newest write only, and one of its consumers could skip those in between.
type recordWrites struct {
	subscription *nats.Subscription
	closed       chan struct{}

	mu sync.Mutex
	// replaced are the revisions that were overwritten. A write names the revision that it replaces, and of several writes that
	// name the same one only one is stored.
	replaced map[string]bool
	bytes    int64
}

// watchInvoker counts the writes of the invoker's record of a schedule from now on.
func (s *session) watchInvoker(id string) (*recordWrites, error) {
	key := schedule.Key{Namespace: namespace, ID: id}
	bucket := s.names.StateBucket(subjects.ShardOf(key, s.cluster.Facts.Shards))
	return watchRecord(s.asks, bucket, kv.Invoker(key).String())
}

// watchRecord counts the writes of a key of a bucket from now on.
func watchRecord(conn *nats.Conn, bucket, key string) (*recordWrites, error) {
	w := &recordWrites{closed: make(chan struct{}), replaced: map[string]bool{}}
	var err error
	if w.subscription, err = conn.Subscribe(subjects.BucketSubject(bucket, key), w.note); err != nil {
		return nil, fmt.Errorf("bench: watch a record: %w", err)
	}
	w.subscription.SetClosedHandler(func(string) { close(w.closed) })
	const unlimited = -1
	// The flush waits until the server knows of the subscription.
	if err := errors.Join(w.subscription.SetPendingLimits(unlimited, unlimited), conn.Flush()); err != nil {
		return nil, fmt.Errorf("bench: watch a record: %w", err)
	}
	return w, nil
}

// note notes an attempt to write the record.
func (w *recordWrites) note(msg *nats.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	revision := msg.Header.Get(nats.ExpectedLastSubjSeqHdr)
	if !w.replaced[revision] {
		w.replaced[revision] = true
		w.bytes += int64(len(msg.Data))
	}
}

// stop ends the count, once everything published so far has been seen, and returns it.
func (w *recordWrites) stop(ctx context.Context) (writes int, bytes int64, err error) {
	if err := w.subscription.Drain(); err != nil {
		return 0, 0, fmt.Errorf("bench: watch a record: %w", err)
	}
	select {
	case <-w.closed:
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.replaced), w.bytes, nil
}
