package consistency_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
)

// TestRebuild: what the streams of tasks and delayed messages have lost is made again in one look, of many workflows and a schedule. A run that
// somebody may have left on purpose stays.
func TestRebuild(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	const asleep, waiting = 300, 5
	stop := f.history()
	for i := range asleep {
		f.begin(fmt.Sprint("asleep-", i))
	}
	for range asleep {
		require.NoError(t, f.respond(f.workflowTask(), startTimer("t", time.Hour)))
	}
	for i := range waiting {
		f.begin(fmt.Sprint("waiting-", i))
	}
	f.settled()
	stop()
	left, _ := started(f.installation, "left")
	f.leave(left)
	f.silence(f.create("s", time.Hour))
	for shard := range 2 {
		f.purge(f.names.TaskStream(shard), f.names.ExecutionTimersOf(shard, "*"))
	}
	f.purge(f.names.BacklogStream(), f.names.Backlogs())

	config := f.config()
	config.Rebuilt, config.Mends = true, (*consistency.Finding).Automatic
	checker, err := consistency.New(t.Context(), config)
	require.NoError(t, err)
	defer checker.Close()
	done, err := checker.Rebuild(t.Context())
	require.NoError(t, err)
	require.Equal(t, consistency.Rebuilt{Schedules: 1, Workflows: asleep + waiting, Repaired: asleep + waiting + 1, Left: 1}, done)
	f.history()
	f.settled()
	require.Equal(t, []consistency.Kind{consistency.RunOrphaned}, kindsOf(f.finds(false)))
	for range waiting {
		require.NoError(t, f.respond(f.workflowTask(), completeFlow()))
	}
}
