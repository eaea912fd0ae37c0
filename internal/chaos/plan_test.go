package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func TestPlanFollowsFromItsSeed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		duration := time.Duration(rapid.IntRange(10, 1800).Draw(t, "seconds")) * time.Second
		disks := rapid.Bool().Draw(t, "disks")
		plan := newPlan(seed, duration, disks)
		require.Equal(t, plan, newPlan(seed, duration, disks))
		var nodesFree time.Duration
		for i, f := range plan {
			require.LessOrEqual(t, firstFault, f.Begin)
			require.Less(t, f.Begin, f.End)
			require.LessOrEqual(t, f.End, duration)
			require.NotEmpty(t, f.Victims)
			if i > 0 {
				require.LessOrEqual(t, plan[i-1].Begin, f.Begin, "in order")
			}
			if f.Kind.ofNATS() {
				require.LessOrEqual(t, nodesFree, f.Begin, "faults of NATS do not overlap")
				nodesFree = f.End
			}
		}
	})
}

func TestPlansOfDifferentSeedsDiffer(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, newPlan(1, time.Minute, false), newPlan(2, time.Minute, false))
}

// TestLongPlanHasEveryKind: a long plan has every kind of fault and hits every process.
func TestLongPlanHasEveryKind(t *testing.T) {
	t.Parallel()
	kinds, victims := map[Kind]int{}, map[string]int{}
	for _, f := range newPlan(1, 10*time.Minute, true) {
		kinds[f.Kind]++
		for _, victim := range f.Victims {
			victims[victim]++
		}
	}
	for _, kind := range []Kind{KillRole, KillRoles, SuspendRole, KillNode, KillNodes, SuspendNode, CutNode, CutLink, FillQuota, FillDisk} {
		require.Positive(t, kinds[kind], kind)
	}
	for _, name := range append(nodeNames(), roleNames()...) {
		require.Positive(t, victims[name], name)
	}
}

func TestStepsAreInOrder(t *testing.T) {
	t.Parallel()
	plan := newPlan(3, 2*time.Minute, false)
	all := steps(plan)
	require.Len(t, all, 2*len(plan))
	open := map[*fault]bool{}
	for i, s := range all {
		if i > 0 {
			require.LessOrEqual(t, all[i-1].at, s.at)
		}
		require.NotEqual(t, s.begin, open[s.fault], "a fault begins before it ends")
		open[s.fault] = s.begin
	}
}
