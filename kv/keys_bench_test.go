package kv_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkKeys lists the records of one schedule among many.
func BenchmarkKeys(b *testing.B) {
	const schedules = 20_000
	_, js := natstest.Connect(b, natstest.Shared(b))
	names := natstest.Names(b)
	_, err := topology.Ensure(b.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(b, err)
	buckets, err := kv.OpenBuckets(b.Context(), js, names, 1)
	require.NoError(b, err)
	bucket := names.StateBucket(0)
	keyOf := func(i int) schedule.Key {
		return schedule.Key{Namespace: "default", ID: fmt.Sprintf("daily-report-%06d", i)}
	}

	var group errgroup.Group
	group.SetLimit(64)
	for i := range schedules {
		group.Go(func() error {
			for _, name := range []string{kv.Definition(keyOf(i)).String(), kv.Generator(keyOf(i)).String()} {
				if _, err := buckets.Create(b.Context(), bucket, name, make([]byte, 200)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		found, err := buckets.Keys(b.Context(), bucket, subjects.StateKey(keyOf(i*7919%schedules), ">"))
		if err != nil || len(found) != 2 {
			b.Fatal(found, err)
		}
		i++
	}
}
