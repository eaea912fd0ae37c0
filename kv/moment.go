package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Some decisions depend on many records at once. The answer of any replica is not good enough for them, and asking the leader for each
// record takes too long. So the leader tells how far each bucket has come, and answers of replicas that are behind that are read again.

// Moment is how far the buckets of all shards had come at a moment; see [Now].
type Moment struct{ newest []uint64 }

// Now returns the present moment. Reads as of this moment see everything that was acknowledged before the call of Now.
func Now(ctx context.Context, s *Store) (Moment, error) {
	m := Moment{newest: make([]uint64, len(s.names))}
	errs := make([]error, len(s.names))
	var asking sync.WaitGroup
	for shard, bucket := range s.names {
		asking.Go(func() { m.newest[shard], errs[shard] = s.buckets.Newest(ctx, bucket) })
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return Moment{}, fmt.Errorf("kv: how far the shards have come: %w", err)
		}
	}
	return m, nil
}

// behindTries is how often replicas are asked again that turn out to be behind. After that, the leader is asked for each record.
// behindWait is the pause after the first such answer; it doubles with each further answer.
const (
	behindTries = 5
	behindWait  = 5 * time.Millisecond
)

// readSince reads the records of some keys from replicas that know a revision. It leaves records that no such replica has told to the
// leader.
func (b *Batch) readSince(ctx context.Context, bucket string, revision uint64, keys []string) error {
	found := make(map[string]Entry, len(keys))
	for len(keys) > 0 {
		if err := b.readCurrent(ctx, bucket, keys, revision); err != nil {
			return err
		}
		maps.Copy(found, b.found)
		if !b.rest || len(b.found) == 0 {
			break
		}
		var left []string // by which the next answer begins
		for _, key := range keys {
			if _, told := b.found[key]; !told {
				left = append(left, key)
			}
		}
		keys = left
	}
	b.found, b.exact = found, true
	return nil
}

// readCurrent reads the entries that match filters from a replica that knows a revision. If no replica knows it, the result is only a rest.
func (b *Batch) readCurrent(ctx context.Context, bucket string, filters []string, revision uint64) error {
	b.found, b.rest, b.exact = nil, true, true
	for try := range behindTries {
		if try > 0 {
			if err := sleep.For(ctx, behindWait<<(try-1)); err != nil {
				return err
			}
		}
		matching, err := b.store.buckets.GetMatching(ctx, bucket, filters)
		if err != nil {
			return fmt.Errorf("kv: read a batch: %w", err)
		}
		if matching.UpTo >= revision {
			b.takeIn(&matching)
			return nil
		}
	}
	return nil
}

// ReadBackfills returns the keys of all triggers and backfills of a schedule that have a record. It sees everything that was acknowledged
// before the call.
func ReadBackfills(ctx context.Context, s *Store, key schedule.Key) ([]Key[wire.BackfillState], error) {
	// A replica tells how far it has come only if it finds something, such as the definition or its trace.
	definition := Definition(key).name
	batch := &Batch{store: s}
	err := batch.readNow(ctx, s.bucket(key), []string{definition, subjects.BackfillKeys(key)})
	if err != nil {
		return nil, err
	}
	return batch.backfills(ctx, key, []string{definition})
}

// readNow reads the entries that match filters as of now. Usually no replica is behind, so it asks a replica for the entries and the leader
// for the moment in parallel.
func (b *Batch) readNow(ctx context.Context, bucket string, filters []string) error {
	var (
		newest  uint64
		err     error
		leading sync.WaitGroup
	)
	leading.Go(func() { newest, err = b.store.buckets.Newest(ctx, bucket) })
	matching, failed := b.store.buckets.GetMatching(ctx, bucket, filters)
	leading.Wait()
	switch {
	case err != nil:
		return fmt.Errorf("kv: read a batch: %w", err)
	case failed != nil:
		return fmt.Errorf("kv: read a batch: %w", failed)
	case matching.UpTo >= newest:
		b.takeIn(&matching)
		b.exact = true
		return nil
	}
	return b.readCurrent(ctx, bucket, filters, newest)
}

// PendingBackfills returns the IDs of those of the given triggers and backfills of a schedule that have a record. It sees everything that
// was acknowledged before the call.
func PendingBackfills(ctx context.Context, s *Store, key schedule.Key, ids []string) (pending []string, err error) {
	for some := range slices.Chunk(ids, batchKeys) {
		batch, names := &Batch{store: s}, []string{Definition(key).name}
		for _, id := range some {
			names = append(names, Backfill(key, id).name)
		}
		if err := batch.readNow(ctx, s.bucket(key), names); err != nil {
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
