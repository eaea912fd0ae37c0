package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// batchKeys is how many records one request asks for, at most. JetStream looks at 1,024.
const batchKeys = 256

// Batch is records that have been read together, from any replica: in a round trip for all and not one for each.
type Batch struct {
	store *Store
	found map[string]Entry // by key, which names no two records of an installation
	// rest says that not all could be told that there are.
	rest bool
}

// ReadBatch reads definitions, and what the pools keep of their schedules: the records that [Definition], [Generator] and
// [Invoker] name.
func ReadBatch(ctx context.Context, s *Store, keys ...schedule.Key) (*Batch, error) {
	return readBatch(ctx, s, keys, func(key schedule.Key) []string {
		return []string{Definition(key).name, Generator(key).name, Invoker(key).name}
	})
}

// ReadDefinitions reads definitions alone: the records that [Definition] names.
func ReadDefinitions(ctx context.Context, s *Store, keys ...schedule.Key) (*Batch, error) {
	return readBatch(ctx, s, keys, func(key schedule.Key) []string { return []string{Definition(key).name} })
}

func readBatch(ctx context.Context, s *Store, keys []schedule.Key, of func(schedule.Key) []string) (*Batch, error) {
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
			reading.Go(func() { p.err = p.read(ctx, s.names[shard], some) })
		}
	}
	reading.Wait()
	return join(s, parts)
}

// ReadPools reads what the pools keep of a schedule: the records that [Generator] and [Invoker] name.
func ReadPools(ctx context.Context, s *Store, key schedule.Key) (*Batch, error) {
	batch := &Batch{store: s}
	return batch, batch.read(ctx, s.bucket(key), []string{Generator(key).name, Invoker(key).name})
}

// ReadWhole reads the records of a schedule that [ReadBatch] reads, and those of all its triggers and backfills, whose keys
// it returns.
func ReadWhole(ctx context.Context, s *Store, key schedule.Key) (*Batch, []Key[schedule.BackfillState], error) {
	batch, keys, err := readBackfills(ctx, s, key, Definition(key).name, Generator(key).name, Invoker(key).name)
	if err != nil || len(batch.found) > 0 || !batch.rest {
		return batch, keys, err
	}
	// There were too many to tell any.
	if batch, err = ReadBatch(ctx, s, key); err != nil {
		return nil, nil, err
	}
	batch.rest = true
	return batch, keys, nil
}

// ReadBackfills reads the records of all triggers and backfills of a schedule, and returns their keys as well.
func ReadBackfills(ctx context.Context, s *Store, key schedule.Key) (*Batch, []Key[schedule.BackfillState], error) {
	return readBackfills(ctx, s, key)
}

// readBackfills reads the records of all triggers and backfills of a schedule, together with some others.
func readBackfills(
	ctx context.Context, s *Store, key schedule.Key, others ...string,
) (*Batch, []Key[schedule.BackfillState], error) {
	batch := &Batch{store: s}
	if err := batch.read(ctx, s.names[s.ShardOf(key)], append(others, subjects.BackfillKeys(key))); err != nil {
		return nil, nil, err
	}
	if batch.rest {
		keys, err := Backfills(ctx, s, key)
		return batch, keys, err
	}
	keys := make([]Key[schedule.BackfillState], 0, max(len(batch.found)-len(others), 0))
	for name := range batch.found {
		if !slices.Contains(others, name) {
			keys = append(keys, Key[schedule.BackfillState]{key, name})
		}
	}
	slices.SortFunc(keys, func(a, b Key[schedule.BackfillState]) int { return cmp.Compare(a.name, b.name) })
	return batch, keys, nil
}

// PendingBackfills returns which of some triggers and backfills of a schedule have a record.
func PendingBackfills(ctx context.Context, s *Store, key schedule.Key, ids []string) (pending []string, err error) {
	for some := range slices.Chunk(ids, batchKeys) {
		batch, names := &Batch{store: s}, make([]string, len(some))
		for i, id := range some {
			names[i] = Backfill(key, id).name
		}
		if err := batch.read(ctx, s.names[s.ShardOf(key)], names); err != nil {
			return nil, err
		}
		for _, id := range some {
			_, err := From(ctx, batch, Backfill(key, id))
			switch {
			case err == nil, errors.Is(err, ErrCorrupt):
				pending = append(pending, id)
			case !errors.Is(err, ErrNotFound):
				return nil, err
			}
		}
	}
	return pending, nil
}

func (b *Batch) read(ctx context.Context, bucket string, filters []string) error {
	entries, rest, err := b.store.buckets.GetMatching(ctx, bucket, filters)
	if err != nil {
		return fmt.Errorf("kv: read a batch: %w", err)
	}
	b.rest, b.found = rest, make(map[string]Entry, len(entries))
	for _, e := range entries {
		b.found[e.Key] = e.Entry
	}
	return nil
}

// part is what one of several requests has read.
type part struct {
	Batch
	err error
}

// join makes one batch of its parts. Of several errors it returns the first in their order, whichever came first.
func join(s *Store, parts []*part) (*Batch, error) {
	all := &Batch{store: s, found: map[string]Entry{}}
	for _, part := range parts {
		if part.err != nil {
			return nil, part.err
		}
		maps.Copy(all.found, part.found)
		all.rest = all.rest || part.rest
	}
	return all, nil
}

// From returns a record of a batch that was to be read with it. One that the answer had no room for is read by itself. The
// error is that of [Get].
func From[T any](ctx context.Context, b *Batch, key Key[T]) (Record[T], error) {
	entry, ok := b.found[key.name]
	switch {
	case ok:
		return decode[T](key.name, entry, nil)
	case b.rest:
		return Get(ctx, b.store, key)
	}
	return decode[T](key.name, Entry{}, ErrNotFound)
}
