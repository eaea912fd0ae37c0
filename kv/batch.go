package kv

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// batchKeys is how many records one request asks for at most. JetStream answers for at most 1,024 subjects.
const batchKeys = 256

// Batch is a set of records that were read together from any replica, in one round trip for all of them.
type Batch struct {
	store *Store
	found map[string]Entry // by key, which names no two records of an installation
	// rest says that the answers do not hold all the records that exist.
	rest bool
	// exact says that the leader must be asked for records that the answers do not hold.
	exact bool
}

// ReadBatch reads the definitions of schedules and the records of their pools: those that [Definition], [Generator] and [Invoker] name.
func ReadBatch(ctx context.Context, s *Store, keys ...schedule.Key) (*Batch, error) {
	return readBatch(ctx, s, keys, func(key schedule.Key) []string {
		return []string{Definition(key).name, Generator(key).name, Invoker(key).name}
	})
}

// ReadDefinitions reads only the definitions of schedules, as they were at a moment or later. It does not trust a replica that is behind
// that moment.
func ReadDefinitions(ctx context.Context, s *Store, m Moment, keys ...schedule.Key) (*Batch, error) {
	of := func(key schedule.Key) []string { return []string{Definition(key).name} }
	return readEach(s, keys, of, func(p *part, shard int, names []string) error {
		return p.readSince(ctx, s.names[shard], m.newest[shard], names)
	})
}

func readBatch(ctx context.Context, s *Store, keys []schedule.Key, of func(schedule.Key) []string) (*Batch, error) {
	return readEach(s, keys, of, func(p *part, shard int, names []string) error { return p.read(ctx, s.names[shard], names) })
}

// readEach reads records of schedules. Each request asks for batchKeys records at most, and the requests run in parallel.
func readEach(
	s *Store, keys []schedule.Key, of func(schedule.Key) []string, read func(p *part, shard int, names []string) error,
) (*Batch, error) {
	names := make([][]string, len(s.names)) // by shard
	for _, key := range keys {
		shard := s.ShardOf(key)
		names[shard] = append(names[shard], of(key)...)
	}
	var (
		parts   []*part
		reading sync.WaitGroup
	)
	for shard := range names {
		for some := range slices.Chunk(names[shard], batchKeys) {
			p := &part{Batch: Batch{store: s}}
			parts = append(parts, p)
			reading.Go(func() { p.err = read(p, shard, some) })
		}
	}
	reading.Wait()
	return join(s, parts)
}

// ReadPools reads the records of the pools of a schedule: those that [Generator] and [Invoker] name.
func ReadPools(ctx context.Context, s *Store, key schedule.Key) (*Batch, error) {
	batch := &Batch{store: s}
	return batch, batch.read(ctx, s.bucket(key), []string{Generator(key).name, Invoker(key).name})
}

// ReadWhole reads the records of a schedule that [ReadBatch] reads, and the records of all its triggers and backfills. It returns the keys
// of the latter.
func ReadWhole(ctx context.Context, s *Store, key schedule.Key) (*Batch, []Key[wire.BackfillState], error) {
	batch := &Batch{store: s}
	records := []string{Definition(key).name, Generator(key).name, Invoker(key).name}
	if err := batch.read(ctx, s.bucket(key), append(records, subjects.BackfillKeys(key))); err != nil {
		return nil, nil, err
	}
	keys, err := batch.backfills(ctx, key, records)
	if err != nil || len(batch.found) > 0 || !batch.rest {
		return batch, keys, err
	}
	// There are too many triggers and backfills for one answer.
	if batch, err = ReadBatch(ctx, s, key); err != nil {
		return nil, nil, err
	}
	batch.rest = true
	return batch, keys, nil
}

// backfills returns the keys of all triggers and backfills of a schedule. The batch holds as many of their records as the answer had room
// for, and the other records named by others.
func (b *Batch) backfills(ctx context.Context, key schedule.Key, others []string) ([]Key[wire.BackfillState], error) {
	if b.rest {
		return Backfills(ctx, b.store, key)
	}
	keys := make([]Key[wire.BackfillState], 0, len(b.found))
	for name := range b.found {
		if !slices.Contains(others, name) {
			keys = append(keys, Key[wire.BackfillState]{key, name})
		}
	}
	slices.SortFunc(keys, func(a, b Key[wire.BackfillState]) int { return cmp.Compare(a.name, b.name) })
	return keys, nil
}

func (b *Batch) read(ctx context.Context, bucket string, filters []string) error {
	matching, err := b.store.buckets.GetMatching(ctx, bucket, filters)
	if err != nil {
		return fmt.Errorf("kv: read a batch: %w", err)
	}
	b.takeIn(&matching)
	return nil
}

func (b *Batch) takeIn(matching *Matching) {
	b.rest, b.found = matching.Rest, make(map[string]Entry, len(matching.Entries))
	for _, e := range matching.Entries {
		b.found[e.Key] = e.Entry
	}
}

// part is the result of one of several requests.
type part struct {
	Batch
	err error
}

// join makes one batch of its parts. Of several errors it returns the first in the order of the parts.
func join(s *Store, parts []*part) (*Batch, error) {
	all := &Batch{store: s, found: map[string]Entry{}}
	for _, part := range parts {
		if part.err != nil {
			return nil, part.err
		}
		maps.Copy(all.found, part.found)
		all.rest, all.exact = all.rest || part.rest, all.exact || part.exact
	}
	return all, nil
}

// From returns a record of a batch. The batch must have been read with the record's key. If the answer had no room for the record, From
// reads it by itself. The error is an error of [Get].
func From[T any](ctx context.Context, b *Batch, key Key[T]) (Record[T], error) {
	entry, ok := b.found[key.name]
	switch {
	case ok:
		return decode[T](key.name, entry, nil)
	case b.rest && b.exact:
		return GetLeader(ctx, b.store, key)
	case b.rest:
		return Get(ctx, b.store, key)
	}
	return decode[T](key.name, Entry{}, ErrNotFound)
}
