package cache_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func definition(incarnation string, version uint64, every time.Duration) *wire.Definition {
	return &wire.Definition{Incarnation: incarnation, Version: version, Schedule: schedule.Schedule{
		Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(every)}}},
	}}
}

func TestSpecsKeepsTheLastUsed(t *testing.T) {
	t.Parallel()
	c := cache.NewSpecs(2)
	get := func(incarnation string, version uint64) any {
		spec, err := c.Get(definition(incarnation, version, time.Hour))
		require.NoError(t, err)
		return spec
	}
	first := get("a", 1)
	require.Same(t, first, get("a", 1))
	require.NotSame(t, first, get("a", 2), "another version")
	require.Same(t, first, get("a", 1))
	get("b", 1) // drops version 2, which has not been used since
	require.Same(t, first, get("a", 1))
	get("a", 2)
	get("b", 1)
	require.NotSame(t, first, get("a", 1), "it was dropped")
}

func TestSpecsKeepsNoErrors(t *testing.T) {
	t.Parallel()
	c := cache.NewSpecs(0)
	_, err := c.Get(definition("a", 1, -time.Hour))
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	_, err = c.Get(definition("a", 1, time.Hour))
	require.NoError(t, err)
}

func TestSpecsConcurrentUse(t *testing.T) {
	t.Parallel()
	c := cache.NewSpecs(8)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for i := range 400 {
				every := time.Duration(i%16+1) * time.Minute
				spec, err := c.Get(definition(fmt.Sprint(i%16), 1, every))
				if !assert.NoError(t, err) {
					return
				}
				next, ok := spec.Next(from, "")
				assert.True(t, ok)
				assert.Zero(t, next.Nominal.Unix()%int64(every.Seconds()))
			}
		})
	}
	running.Wait()
}
