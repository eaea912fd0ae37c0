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

// Cluster is the bucket of what an installation knows beside its schedules, opened when it is first needed. Its records are
// JSON, whose types belong to whoever keeps them there; see [GetJSON]. It is made by [NewCluster] and safe for concurrent use.
//
// Where there is no such bucket, all that is done with it fails with CodeUnavailable. A nil Cluster is that of a world without
// one: there it is CodeFailedPrecondition.
type Cluster struct {
	js   jetstream.JetStream
	name string

	mu   sync.Mutex
	open ClusterBuckets
}

// ClusterBuckets is where a [Cluster] keeps its records: see [Buckets].
type ClusterBuckets interface {
	Buckets
	// PutFor writes a key whatever there is. The entry goes by itself after some time: a second or more.
	PutFor(ctx context.Context, bucket, key string, data []byte, keep time.Duration) error
	// Watch follows the entries that match a filter, from what there is on, until it is stopped or ctx ends. Its updates are nil
	// where all has been shown that there was.
	Watch(ctx context.Context, bucket, filter string) (jetstream.KeyWatcher, error)
}

var _ ClusterBuckets = (*natsBuckets)(nil)

// NewCluster returns the bucket of an installation, which need not exist yet.
func NewCluster(js jetstream.JetStream, names subjects.Names) *Cluster {
	return &Cluster{js: js, name: names.ClusterBucket()}
}

// NewClusterIn returns the bucket of an installation that keeps its records in given buckets: a simulation.
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

// GetJSON reads a record from the leader: what was acknowledged before is seen. The error is ErrNotFound, ErrCorrupt, with which
// the revision is returned all the same, or one of NATS.
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

// PutJSON writes a record if its revision is still the given one; 0 means that it must not exist. It returns the new revision.
// The error is ErrConflict or one of NATS; after the latter the write may or may not have happened.
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

// PutJSONFor writes a record whatever there is, which goes by itself after some time: a second or more.
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

// Delete removes a record if its revision, which is not 0, is still the given one. The error is ErrConflict or one of NATS.
func (c *Cluster) Delete(ctx context.Context, key string, revision uint64) error {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	return writing(key, bucket.Delete(ctx, c.name, key, revision, Note{}))
}

// Remove removes a record as it is now, if there is one. The error is ErrConflict, if it is written meanwhile, or one of NATS.
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

// Keys lists the keys that match a filter, in any order. None that is there throughout is missing.
func (c *Cluster) Keys(ctx context.Context, filter string) ([]string, error) {
	bucket, err := c.bucket(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Keys(ctx, c.name, filter)
}

// Watch follows the records that match a filter, from what there is on. The updates of nats.go say nil where that has been shown.
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
