package kv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// listTimeout bounds a list whose context has no deadline. Listing a million schedules takes seconds.
const listTimeout = time.Minute

// Schedules returns the keys of all schedules of a namespace, ordered by ID.
func Schedules(ctx context.Context, s *Store, namespace string) ([]schedule.Key, error) {
	return schedules(namespace, len(s.names), func(shard int) ([]string, error) {
		return s.list(ctx, shard, subjects.DefinitionKeys(namespace))
	})
}

// SchedulesAndTraces returns the keys that Schedules returns, and the keys of some or all schedules that were deleted less than
// subjects.TombstoneAge ago. It costs a fraction of Schedules.
func SchedulesAndTraces(ctx context.Context, s *Store, namespace string) ([]schedule.Key, error) {
	return schedules(namespace, len(s.names), func(shard int) ([]string, error) {
		filter := subjects.DefinitionKeys(namespace)
		names, rest, err := s.buckets.Names(ctx, s.names[shard], filter)
		if err != nil {
			return nil, fmt.Errorf("kv: list %s: %w", filter, err)
		}
		if rest {
			return s.list(ctx, shard, filter)
		}
		return names, nil
	})
}

// schedules makes schedule keys of the names of definitions. The function list returns the names of a shard.
func schedules(namespace string, shards int, list func(shard int) ([]string, error)) ([]schedule.Key, error) {
	var keys []schedule.Key
	for shard := range shards {
		names, err := list(shard)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			key, err := subjects.ParseStateKey(name)
			if err != nil {
				return nil, fmt.Errorf("kv: list %s: %w", namespace, err)
			}
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b schedule.Key) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(keys), nil
}

// Backfills returns the keys of all backfill records of a schedule.
func Backfills(ctx context.Context, s *Store, key schedule.Key) ([]Key[wire.BackfillState], error) {
	names, err := s.list(ctx, s.ShardOf(key), subjects.BackfillKeys(key))
	if err != nil {
		return nil, err
	}
	keys := make([]Key[wire.BackfillState], len(names))
	for i, name := range names {
		keys[i] = Key[wire.BackfillState]{key, name}
	}
	return keys, nil
}

func (s *Store) list(ctx context.Context, shard int, filter string) ([]string, error) {
	names, err := s.buckets.Keys(ctx, s.names[shard], filter)
	if err != nil {
		return nil, fmt.Errorf("kv: list %s: %w", filter, err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
