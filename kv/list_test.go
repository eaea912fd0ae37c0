package kv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestListsAreCompleteUnderWrites: what is there all the time is in every list, however often it is written meanwhile.
func TestListsAreCompleteUnderWrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const keys, lists, writers = 30, 60, 4
	for i := range keys {
		_, err := kv.Put(t.Context(), b.store, kv.Definition(numbered(i)), &wire.Definition{ID: numbered(i).ID}, 0)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := w; ctx.Err() == nil; i += writers {
				b.rewrite(ctx, numbered(i%keys))
			}
		})
	}
	for range lists {
		listed, err := kv.Schedules(t.Context(), b.store, "default")
		require.NoError(t, err)
		require.Len(t, listed, keys)
	}
	cancel()
	writing.Wait()
}

func numbered(i int) schedule.Key {
	return schedule.Key{Namespace: "default", ID: fmt.Sprintf("job-%02d", i)}
}

// rewrite writes a definition as it is, unless the test is over.
func (b *testBundle) rewrite(ctx context.Context, key schedule.Key) {
	record, err := kv.GetLeader(ctx, b.store, kv.Definition(key))
	if err == nil {
		_, _ = kv.Put(ctx, b.store, kv.Definition(key), &record.Value, record.Revision)
	}
}
