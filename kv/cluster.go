package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Cluster is the bucket for everything that an installation keeps besides its schedules. It is opened at its first use. Its records are
// JSON; the packages that keep records there own their types; see [GetJSON]. [NewCluster] makes a Cluster, which is safe for concurrent
// use.
//
// If the bucket does not exist, all operations fail with CodeUnavailable. A nil Cluster stands for an installation without the bucket: its
// operations fail with CodeFailedPrecondition.
type Cluster struct {
	js   jetstream.JetStream
	name string

	mu   sync.Mutex
	open ClusterBuckets
}

// ClusterBuckets is the storage of a [Cluster]; see [Buckets].
type ClusterBuckets interface {
	Buckets
	// PutFor writes a key whatever its revision. The entry expires after the duration keep, which is a second or more.
	PutFor(ctx context.Context, bucket, key string, data []byte, keep time.Duration) error
	// Watch sends the existing entries that match a filter, then a nil update, then each change, until it is stopped or ctx ends.
	Watch(ctx context.Context, bucket, filter string) (jetstream.KeyWatcher, error)
}

var _ ClusterBuckets = (*natsBuckets)(nil)

// NewCluster returns the bucket of an installation, which need not exist yet.
func NewCluster(js jetstream.JetStream, names subjects.Names) *Cluster {
	return &Cluster{js: js, name: names.ClusterBucket()}
}

// NewClusterIn returns a Cluster that keeps its records in the given buckets, for a simulation.
func NewClusterIn(buckets ClusterBuckets, names subjects.Names) *Cluster {
	return &Cluster{open: buckets, name: names.ClusterBucket()}
}

// bucket opens the bucket.
func (c *Cluster) bucket(ctx context.Context) (ClusterBuckets, error) {
	if c == nil {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "there is no cluster bucket here")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != nil {
		return c.open, nil
	}
	open, err := openBuckets(ctx, c.js, []string{c.name}, nil)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, schedule.Errorf(schedule.CodeUnavailable, "the cluster has no bucket %s: it is not set up", c.name)
	}
	if err != nil {
		return nil, err
	}
	c.open = open
	return open, nil
}

// GetJSON reads a record from the leader, so it sees every acknowledged write. The error is ErrNotFound, ErrCorrupt or an error of NATS.
// With ErrCorrupt, the revision of the record is set.
func GetJSON[T any](ctx context.Context, c *Cluster, key string) (record Record[T], err error) {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return record, err
	}
	entry, err := bucket.GetLeader(ctx, c.name, key)
	if err != nil {
		return record, fmt.Errorf("kv: read %s: %w", key, err)
	}
	record.Revision = entry.Revision
	if err := json.Unmarshal(entry.Data, &record.Value); err != nil {
		return Record[T]{Revision: entry.Revision}, fmt.Errorf("%w: %s: %w", ErrCorrupt, key, err)
	}
	return record, nil
}

// PutJSON writes a record if its revision is still the given one; revision 0 means that the record must not exist. It returns the new
// revision. The error is ErrConflict or an error of NATS; after the latter, the write may or may not have happened.
func PutJSON[T any](ctx context.Context, c *Cluster, key string, value *T, revision uint64) (uint64, error) {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return 0, fmt.Errorf("kv: encode %s: %w", key, err)
	}
	if revision == 0 {
		revision, err = bucket.Create(ctx, c.name, key, data)
	} else {
		revision, err = bucket.Update(ctx, c.name, key, data, revision)
	}
	return revision, writing(key, err)
}

// PutJSONFor writes a record whatever its revision. The record expires after the duration keep, which is a second or more.
func PutJSONFor[T any](ctx context.Context, c *Cluster, key string, value *T, keep time.Duration) error {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("kv: encode %s: %w", key, err)
	}
	return writing(key, bucket.PutFor(ctx, c.name, key, data, keep))
}

// PutFor implements ClusterBuckets.
func (b *natsBuckets) PutFor(ctx context.Context, bucket, key string, data []byte, keep time.Duration) error {
	_, err := b.publisher.Publish(ctx, &nats.Msg{
		Subject: subjects.BucketSubject(bucket, key), Header: nats.Header{jetstream.MsgTTLHeader: {keep.String()}}, Data: data,
	})
	return err
}

// Delete removes a record if its revision is still the given one, which must not be 0. The error is ErrConflict or an error of NATS.
func (c *Cluster) Delete(ctx context.Context, key string, revision uint64) error {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	return writing(key, bucket.Delete(ctx, c.name, key, revision, Note{}))
}

// Remove removes a record, if there is one, whatever its revision. The error is ErrConflict if somebody writes the record meanwhile, or an
// error of NATS.
func (c *Cluster) Remove(ctx context.Context, key string) error {
	record, err := GetJSON[json.RawMessage](ctx, c, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil && !errors.Is(err, ErrCorrupt):
		return err
	}
	return c.Delete(ctx, key, record.Revision)
}

// Keys lists the keys that match a filter, in any order. It misses no key that exists during the whole call.
func (c *Cluster) Keys(ctx context.Context, filter string) ([]string, error) {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Keys(ctx, c.name, filter)
}

// Watch sends the existing records that match a filter, then a nil update, then each change.
func (c *Cluster) Watch(ctx context.Context, filter string) (jetstream.KeyWatcher, error) {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Watch(ctx, c.name, filter)
}

// Watch implements ClusterBuckets.
func (b *natsBuckets) Watch(ctx context.Context, bucket, filter string) (jetstream.KeyWatcher, error) {
	in, err := b.of(ctx, bucket)
	if err != nil {
		return nil, err
	}
	return in.Watch(ctx, filter)
}
