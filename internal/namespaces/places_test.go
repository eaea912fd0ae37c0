package namespaces_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// bucket is the cluster bucket of a test.
func bucket(t *testing.T) *kv.Cluster {
	js, names, _ := cluster(t)
	return kv.NewCluster(js, names)
}

func TestRecords(t *testing.T) {
	t.Parallel()
	records := namespaces.NewRecords(bucket(t))
	ctx := t.Context()
	_, err := records.Get(ctx, "a")
	require.ErrorIs(t, err, kv.ErrNotFound)
	for _, name := range []string{"b", "a", "c"} {
		require.NoError(t, records.Put(ctx, schedule.Namespace{Name: name, Version: 1}, 0))
	}
	require.ErrorIs(t, records.Put(ctx, schedule.Namespace{Name: "a"}, 0), kv.ErrConflict)
	a, err := records.Get(ctx, "a")
	require.NoError(t, err)
	next := a.Namespace
	next.Version, next.Limits.MaxSchedules = 2, 7
	require.NoError(t, records.Put(ctx, next, a.Revision))
	require.ErrorIs(t, records.Put(ctx, next, a.Revision), kv.ErrConflict)

	names, err := records.Names(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, names)
	require.ErrorIs(t, records.Delete(ctx, "a", a.Revision), kv.ErrConflict)
	c, err := records.Get(ctx, "c")
	require.NoError(t, err)
	require.NoError(t, records.Delete(ctx, "c", c.Revision))
	found, err := records.Read(ctx, names)
	require.NoError(t, err)
	assert.Equal(t, []schedule.Namespace{next, {Name: "b", Version: 1}}, found)
	require.NoError(t, records.Put(ctx, schedule.Namespace{Name: "c"}, 0), "it can come again")
}

// stock has the schedules that several frontends create.
type stock struct {
	mu   sync.Mutex
	keys map[string]bool
	// gone counts the deleted ones that have left a trace.
	gone int
}

func (s *stock) counter() namespaces.Counter {
	return namespaces.Counter{
		AtMost: func(context.Context, string) (int, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.keys) + s.gone, nil
		},
		List: func(context.Context, string) ([]schedule.Key, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var keys []schedule.Key
			for id := range s.keys {
				keys = append(keys, schedule.Key{Namespace: "n", ID: id})
			}
			slices.SortFunc(keys, func(a, b schedule.Key) int {
				if a.ID < b.ID {
					return -1
				}
				return 1
			})
			return keys, nil
		},
	}
}

// create creates a schedule if there is a place for it.
func (s *stock) create(t *testing.T, places *namespaces.Places, id string, limit int) error {
	err := places.Take(t.Context(), schedule.Key{Namespace: "n", ID: id}, limit)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys[id] = true
	}
	return err
}

// TestPlacesOfSeveralFrontends: they create schedules at the same time until there is no place.
func TestPlacesOfSeveralFrontends(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 100, 2000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			s, in := &stock{keys: map[string]bool{}}, bucket(t)
			var creating sync.WaitGroup
			for f := range 3 {
				places := namespaces.NewPlaces(in, s.counter(), time.Now)
				for i := range 4 {
					creating.Go(func() {
						for n := 0; ; n++ {
							err := s.create(t, places, fmt.Sprint(f, "-", i, "-", n), limit)
							if err != nil {
								assert.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
								return
							}
						}
					})
				}
			}
			creating.Wait()
			assert.LessOrEqual(t, len(s.keys), limit)
			assert.GreaterOrEqual(t, len(s.keys), limit*9/10, "few are left in the hands of frontends")
		})
	}
}

func TestPlacesAreCountedAgain(t *testing.T) {
	t.Parallel()
	s, in := &stock{keys: map[string]bool{}}, bucket(t)
	now := time.Now()
	places := namespaces.NewPlaces(in, s.counter(), func() time.Time { return now })
	require.NoError(t, s.create(t, places, "a", 2))
	require.NoError(t, s.create(t, places, "b", 2))
	require.ErrorContains(t, s.create(t, places, "c", 2), `namespace "n" has its 2 schedules`)
	require.NoError(t, s.create(t, places, "c", 3), "the limit is higher")
	delete(s.keys, "a")
	s.gone++
	err := s.create(t, places, "d", 3)
	var full *schedule.Error
	require.ErrorAs(t, err, &full, "a may be on its way still")
	require.Positive(t, full.RetryAfter)
	now = now.Add(full.RetryAfter.Std())
	require.NoError(t, s.create(t, places, "d", 3), "what was deleted makes room")
	another := namespaces.NewPlaces(in, s.counter(), func() time.Time { return now })
	require.Error(t, s.create(t, another, "e", 3))

	clear(s.keys)
	now = now.Add(time.Second) // the refusal is forgotten
	require.NoError(t, s.create(t, another, "e", 3))
	clear(s.keys)
	require.NoError(t, places.Forget(t.Context(), "n"))
	require.NoError(t, places.Forget(t.Context(), "n"))
	for _, id := range []string{"f", "g", "h"} {
		require.NoError(t, s.create(t, places, id, 3))
	}
}
