package invoker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// replacedMeanwhile are buckets in which another schedule of the same ID comes once somebody has found that there is none any more.
type replacedMeanwhile struct {
	kv.Buckets
	definition string
	// looks counts down the looks that find none.
	looks  atomic.Int32
	create func()
}

func (r *replacedMeanwhile) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	entry, err := r.Buckets.GetLeader(ctx, bucket, key)
	if key == r.definition && errors.Is(err, kv.ErrNotFound) && r.looks.Add(-1) == 0 {
		r.create()
	}
	return entry, err
}

// TestReplacedWhileItIsForgotten: the deletion said what becomes of the runs, and that counts also if the ID has another schedule by the time the
// invoker looks. A frontend takes what the trace says over into the new definition.
func TestReplacedWhileItIsForgotten(t *testing.T) {
	t.Parallel()
	for policy, want := range map[schedule.RunsPolicy]int{schedule.RunsLeave: 1, schedule.RunsWithdraw: 0, schedule.RunsTerminate: 0} {
		for looks := range 3 {
			t.Run(fmt.Sprintf("%s %d", policy, looks+1), func(t *testing.T) {
				t.Parallel()
				replacedAfter(t, policy, int32(looks+1), want)
			})
		}
	}
}

func replacedAfter(t *testing.T, policy schedule.RunsPolicy, looks int32, want int) {
	s := newInstallation(t)
	stop := s.run(s.newPool())
	s.due(1)
	s.awaitPhase(1, schedule.PhaseStarted)
	stop()
	definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	deletion := &wire.Deletion{Incarnation: definition.Value.Incarnation, Runs: policy}
	note := kv.Note{Deletion: deletion}
	require.NoError(t, kv.DeleteNoting(t.Context(), s.store, kv.Definition(s.key), definition.Revision, note))
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	meanwhile := &replacedMeanwhile{Buckets: buckets, definition: kv.Definition(s.key).String(), create: func() {
		s.define("nightly", func(d *wire.Definition) { d.Incarnation, d.Predecessor = "inc-anew", deletion })
	}}
	meanwhile.looks.Store(looks)
	invokers := s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(meanwhile, s.names, 1) })
	wake := wire.Wake{Incarnation: definition.Value.Incarnation, Version: definition.Value.Version + 1, Reason: wire.ReasonDeleted}
	require.NoError(t, invokers.Handle(t.Context(), s.key, s.group(false, invoker.Message{Wake: &wake})).Err())
	assert.Len(t, s.left(), want)
}
