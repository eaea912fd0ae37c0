package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestWatchedSchedules is not parallel: the watched schedules are a setting of the whole process.
func TestWatchedSchedules(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, metrics.Watch(nil)) })
	o := watchedOptions{schedules: []string{"finance/daily/report", "default/tick"}}
	require.NoError(t, o.apply())
	for _, key := range []schedule.Key{{Namespace: "finance", ID: "daily/report"}, {Namespace: "default", ID: "tick"}} {
		assert.True(t, metrics.IsWatched(key), key)
	}
	require.NoError(t, (&watchedOptions{}).apply())
	assert.True(t, metrics.IsWatched(schedule.Key{Namespace: "default", ID: "tick"}), "without the flag nothing changes")
}

func TestWatchScheduleRefuses(t *testing.T) {
	t.Parallel()
	many := []string{"server"}
	for range metrics.MaxWatched + 1 {
		many = append(many, "--watch-schedule", "default/tick")
	}
	for want, args := range map[string][]string{
		`--watch-schedule: "tick" is not NAMESPACE/ID, such as default/tick`: {"invoker", "--watch-schedule", "tick"},
		`--watch-schedule: "/tick": namespace`:                               {"server", "--watch-schedule", "/tick"},
		`--watch-schedule: 101 schedules are too many: name 100 at most`:     many,
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), args...))
		assert.Contains(t, p.stderr.String(), "error: "+want)
	}
}

// TestEveryPoolHasACommand: every pool has a command, and the server runs it too.
func TestEveryPoolHasACommand(t *testing.T) {
	t.Parallel()
	root := (&app{}).rootCommand()
	for _, pool := range subjects.Pools() {
		cmd, _, err := root.Find([]string{pool})
		require.NoError(t, err, pool)
		assert.Equal(t, pool, cmd.Name())
		assert.Contains(t, new(serverOptions).roles(), pool)
	}
}
