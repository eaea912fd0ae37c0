package kv

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Cluster is the bucket of what an installation knows beside its schedules. Its entries are JSON, whose types belong to
// whoever keeps them there. It is immutable and safe for concurrent use; the methods are those of [Buckets].
type Cluster struct {
	buckets *natsBuckets
	name    string
}

// OpenCluster returns the bucket of an installation that has been set up.
func OpenCluster(ctx context.Context, js jetstream.JetStream, names subjects.Names) (*Cluster, error) {
	buckets, err := openBuckets(ctx, js, []string{names.ClusterBucket()})
	if err != nil {
		return nil, err
	}
	return &Cluster{buckets: buckets, name: names.ClusterBucket()}, nil
}

// GetLeader reads an entry from the leader.
func (c *Cluster) GetLeader(ctx context.Context, key string) (Entry, error) {
	return c.buckets.GetLeader(ctx, c.name, key)
}

// Put writes an entry if its revision is still the given one; 0 means that it must not exist. It returns the new revision.
func (c *Cluster) Put(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return c.buckets.Create(ctx, c.name, key, data)
	}
	return c.buckets.Update(ctx, c.name, key, data, revision)
}

// PutFor writes an entry whatever there is, which goes by itself after some time: a second or more.
func (c *Cluster) PutFor(ctx context.Context, key string, data []byte, keep time.Duration) error {
	_, err := c.buckets.publisher.Publish(ctx, &nats.Msg{
		Subject: "$KV." + c.name + "." + key, Header: nats.Header{jetstream.MsgTTLHeader: {keep.String()}}, Data: data,
	})
	return err
}

// Delete removes an entry if its revision, which is not 0, is still the given one.
func (c *Cluster) Delete(ctx context.Context, key string, revision uint64) error {
	return c.buckets.Delete(ctx, c.name, key, revision)
}

// Keys lists the keys that match a filter, in any order.
func (c *Cluster) Keys(ctx context.Context, filter string) ([]string, error) {
	return c.buckets.Keys(ctx, c.name, filter)
}
