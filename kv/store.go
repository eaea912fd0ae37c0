package kv

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Store is the state buckets of one installation. It is immutable and safe for concurrent use.
type Store struct {
	js      jetstream.JetStream
	buckets []jetstream.KeyValue
}

// Open returns the store of an installation that has been set up with that many shards.
func Open(ctx context.Context, js jetstream.JetStream, names subjects.Names, shards int) (*Store, error) {
	store := &Store{js: js, buckets: make([]jetstream.KeyValue, shards)}
	for shard := range shards {
		bucket, err := js.KeyValue(ctx, names.StateBucket(shard))
		if err != nil {
			return nil, fmt.Errorf("kv: open bucket %s: %w", names.StateBucket(shard), err)
		}
		store.buckets[shard] = bucket
	}
	return store, nil
}

// Shards returns the number of shards.
func (s *Store) Shards() int { return len(s.buckets) }

// ShardOf returns the shard of a schedule.
func (s *Store) ShardOf(key schedule.Key) int { return subjects.ShardOf(key, len(s.buckets)) }

func (s *Store) bucket(key schedule.Key) jetstream.KeyValue { return s.buckets[s.ShardOf(key)] }
