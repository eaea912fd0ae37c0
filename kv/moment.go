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

// Where something is allowed or refused by what many records say, the word of any replica is not enough, and to ask the leader for each
// takes too long. So the leader tells how far each bucket has come, and whatever a replica answers that has not come as far is asked again.

// Moment is how far the buckets of all shards had come at a moment; see [Now].
type Moment struct{ newest []uint64 }

// Now returns the present moment: what was acknowledged before Now was called, whoever reads by it sees.
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

// behindTries is how often replicas are asked that turn out to be behind, before the leader is asked for each record; behindWait how long
// after the first of these answers, and twice as long after each that follows.
const (
	behindTries = 5
	behindWait  = 5 * time.Millisecond
)

// readSince reads the records of some keys by the word of replicas that know a revision. What none of those could tell is left to the
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

// readCurrent reads by filters what a replica has that knows a revision. If there is none there is nothing but a rest.
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

// ReadBackfills returns the keys of all triggers and backfills of a schedule that have a record: what was acknowledged before it was
// called is seen.
func ReadBackfills(ctx context.Context, s *Store, key schedule.Key) ([]Key[wire.BackfillState], error) {
	// A replica tells how far it has come only where it finds something, such as the definition, or its trace.
	definition := Definition(key).name
	batch := &Batch{store: s}
	err := batch.readNow(ctx, s.bucket(key), []string{definition, subjects.BackfillKeys(key)})
	if err != nil {
		return nil, err
	}
	return batch.backfills(ctx, key, []string{definition})
}

// readNow reads by filters what there is now. As a rule no replica is behind, so one is asked at the same time as the leader is how far it
// has come.
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

// PendingBackfills returns which of some triggers and backfills of a schedule have a record: what was acknowledged before it was called is
// seen.
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
