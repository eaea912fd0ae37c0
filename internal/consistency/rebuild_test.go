package consistency_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
)

// TestRebuild: what the streams of tasks and delayed messages have lost is made again in one look, of many workflows and a schedule. A run that
// somebody may have left on purpose stays. A repair that fails is known as left.
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
	for shard := range 2 { // also what the delayed messages have become meanwhile
		f.purge(f.names.TaskStream(shard), f.names.ExecutionTimersOf(shard, "*"))
		f.purge(f.names.TaskStream(shard), fmt.Sprintf("%s.task.%d.execution.>", f.names.Prefix(), shard))
	}
	f.purge(f.names.BacklogStream(), f.names.Backlogs())
	left, _ := started(f.installation, "left")
	f.leave(left)
	f.silence(f.create("s", time.Hour))
	key, lost := started(f.installation, "lost", skipping)
	f.unqueue(key, lost)

	config := f.config()
	config.Rebuilt, config.Mends = true, (*consistency.Finding).Automatic
	checker, err := consistency.New(t.Context(), config)
	require.NoError(t, err)
	defer checker.Close()
	f.refuse(true)
	done, err := checker.Rebuild(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(done.Left), asleep)
	f.refuse(false)
	repaired := done.Repaired
	done, err = checker.Rebuild(t.Context())
	require.NoError(t, err)
	require.Equal(t, []consistency.Kind{consistency.RunOrphaned}, kindsOf(done.Left))
	require.Equal(t, [3]int{2, asleep + waiting, asleep + waiting + 2}, [3]int{done.Schedules, done.Workflows, repaired + done.Repaired})
	f.failsAsLost("lost", lost)
	f.history()
	f.settled()
	require.Equal(t, []consistency.Kind{consistency.RunOrphaned}, kindsOf(f.finds(false)))
	for range waiting {
		require.NoError(t, f.respond(f.workflowTask(), completeFlow()))
	}
}

// refuse lets the streams of delayed messages take nothing, or all.
func (f *flows) refuse(all bool) {
	f.Helper()
	for shard := range 2 {
		stream, err := f.js.Stream(f.Context(), f.names.TaskStream(shard))
		require.NoError(f, err)
		config := stream.CachedInfo().Config
		if config.MaxMsgSize = -1; all {
			config.MaxMsgSize = 1
		}
		_, err = f.js.UpdateStream(f.Context(), config)
		require.NoError(f, err)
	}
}
