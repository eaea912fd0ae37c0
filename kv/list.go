package kv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// listTimeout bounds a list whose context has no deadline. The keys of a million schedules take seconds.
const listTimeout = time.Minute

// Schedules returns the keys of all schedules of a namespace, ordered by ID.
func Schedules(ctx context.Context, s *Store, namespace string) ([]schedule.Key, error) {
	var keys []schedule.Key
	for shard := range s.names {
		names, err := s.list(ctx, shard, subjects.DefinitionKeys(namespace))
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
func Backfills(ctx context.Context, s *Store, key schedule.Key) ([]Key[schedule.BackfillState], error) {
	names, err := s.list(ctx, s.ShardOf(key), subjects.BackfillKeys(key))
	if err != nil {
		return nil, err
	}
	keys := make([]Key[schedule.BackfillState], len(names))
	for i, name := range names {
		keys[i] = Key[schedule.BackfillState]{key, name}
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
