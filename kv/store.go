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
	names   []string // the bucket of each shard
	cluster string   // the bucket of records that belong to no schedule
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

// OpenLanes returns the buckets of an installation on NATS. It reads shards through their lanes if they use them, and tells the lanes how
// many messages each shard has.
func OpenLanes(
	ctx context.Context, js jetstream.JetStream, lanes *bus.Lanes, names subjects.Names, shards int,
) (Buckets, error) {
	return openBuckets(ctx, js, NewStore(nil, names, shards).names, lanes)
}

// NewStore returns a store that keeps its records in the given buckets.
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

// bucket returns the bucket of a schedule's records, or of the cluster's records for the zero key.
func (s *Store) bucket(key schedule.Key) string {
	if key == (schedule.Key{}) {
		return s.cluster
	}
	return s.names[s.ShardOf(key)]
}
