package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// clusterStore keeps records as JSON in the bucket of the cluster, which it opens when it is first needed. It is safe for
// concurrent use.
type clusterStore struct {
	js    jetstream.JetStream
	names subjects.Names

	mu   sync.Mutex
	open *kv.Cluster
}

func newClusterStore(js jetstream.JetStream, names subjects.Names) *clusterStore {
	return &clusterStore{js: js, names: names}
}

// bucket returns the bucket. Of no store, which is that of a simulation, there is none.
func (s *clusterStore) bucket(ctx context.Context) (*kv.Cluster, error) {
	if s == nil {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "there are no named calendars here")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		return s.open, nil
	}
	bucket, err := kv.OpenCluster(ctx, s.js, s.names)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, schedule.Errorf(schedule.CodeUnavailable, "the cluster has no bucket %s: it is not set up",
			s.names.ClusterBucket())
	}
	if err == nil {
		s.open = bucket
	}
	return bucket, err
}

// getJSON reads a record as it was last written. The error is kv.ErrNotFound, kv.ErrCorrupt or one of NATS.
func getJSON[T any](ctx context.Context, s *clusterStore, key string) (record kv.Record[T], err error) {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return record, err
	}
	entry, err := bucket.GetLeader(ctx, key)
	if err != nil {
		return record, fmt.Errorf("read %s: %w", key, err)
	}
	if err := json.Unmarshal(entry.Data, &record.Value); err != nil {
		return record, fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, key, err)
	}
	record.Revision = entry.Revision
	return record, nil
}

// putJSON writes a record if its revision is still the given one; 0 means that it must not exist. The error is
// kv.ErrConflict or one of NATS.
func putJSON[T any](ctx context.Context, s *clusterStore, key string, value *T, revision uint64) (uint64, error) {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	if revision, err = bucket.Put(ctx, key, data, revision); err != nil {
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
	return revision, nil
}

// noteJSON writes a record whatever there is, which goes by itself after some time.
func noteJSON[T any](ctx context.Context, s *clusterStore, key string, value T, keep time.Duration) error {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return bucket.PutFor(ctx, key, data, keep)
}

// remove removes a record if its revision is still the given one. The error is kv.ErrConflict or one of NATS.
func (s *clusterStore) remove(ctx context.Context, key string, revision uint64) error {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return err
	}
	if err := bucket.Delete(ctx, key, revision); err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	return nil
}

// keys lists the keys that match a filter, in any order.
func (s *clusterStore) keys(ctx context.Context, filter string) ([]string, error) {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Keys(ctx, filter)
}
