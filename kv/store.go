package kv

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Store is the state buckets of one installation. It is immutable and safe for concurrent use.
type Store struct {
	buckets Buckets
	names   []string // of the bucket of each shard
	cluster string   // the bucket of what belongs to no schedule
}

// Open returns the store of an installation that has been set up with that many shards.
func Open(ctx context.Context, js jetstream.JetStream, names subjects.Names, shards int) (*Store, error) {
	buckets, err := OpenBuckets(ctx, js, names, shards)
	if err != nil {
		return nil, err
	}
	return NewStore(buckets, names, shards), nil
}

// OpenBuckets returns the buckets of an installation on NATS.
func OpenBuckets(ctx context.Context, js jetstream.JetStream, names subjects.Names, shards int) (Buckets, error) {
	return OpenLanes(ctx, js, nil, names, shards)
}

// OpenLanes returns the buckets of an installation on NATS, of which those of the shards are read by the lanes that are used. It tells
// the lanes how much each shard has.
func OpenLanes(
	ctx context.Context, js jetstream.JetStream, lanes *bus.Lanes, names subjects.Names, shards int,
) (Buckets, error) {
	return openBuckets(ctx, js, NewStore(nil, names, shards).names, lanes)
}

// NewStore returns a store that keeps its records in given buckets.
func NewStore(buckets Buckets, names subjects.Names, shards int) *Store {
	store := &Store{buckets: buckets, names: make([]string, shards), cluster: names.ClusterBucket()}
	for shard := range shards {
		store.names[shard] = names.StateBucket(shard)
	}
	return store
}

// Shards returns the number of shards.
func (s *Store) Shards() int { return len(s.names) }

// ShardOf returns the shard of a schedule.
func (s *Store) ShardOf(key schedule.Key) int { return subjects.ShardOf(key, len(s.names)) }

// bucket is where the records of a schedule are, or of the cluster.
func (s *Store) bucket(key schedule.Key) string {
	if key == (schedule.Key{}) {
		return s.cluster
	}
	return s.names[s.ShardOf(key)]
}
