package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runIDs returns the IDs of the runs that some flags select.
func (c cli) runIDs(args ...string) []string {
	c.t.Helper()
	code, stdout, stderr := c.runs(append([]string{"list", "-q"}, args...)...)
	require.Equal(c.t, ExitOK, code, stderr)
	return strings.Fields(stdout)
}

// queueOne creates a schedule for a task queue and triggers it. It returns the run once the run is in the queue or with a worker.
func (c cli) queueOne(id, queue string) schedule.Run {
	c.t.Helper()
	c.ok("create", id, "--type", "sleep", "--input", `"1h"`, "--task-queue", queue)
	c.ok("trigger", id)
	d := c.until(id, "it runs", func(d schedule.Description) bool { return len(d.Info.RunningWorkflows) == 1 })
	return d.Info.RunningWorkflows[0]
}

// TestRunsOfDeletedSchedulesEndToEnd: deleting a schedule removes its queued runs, unless they are to stay. Runs that stay can be listed,
// and ended by hand.
func TestRunsOfDeletedSchedulesEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	withdrawn, left := c.queueOne("withdrawn", "nobody"), c.queueOne("left", "nobody")
	hand := c.queueOne("hand", "default")
	c.ok("delete", "withdrawn")
	c.ok("delete", "left", "--runs-policy", "leave")
	c.ok("delete", "hand")
	natstest.Eventually(t, natstest.Patience, "the run is withdrawn", func() bool {
		return len(c.runIDs("--status", "running")) == 2
	})
	assert.ElementsMatch(t, []string{left.RunID, hand.RunID}, c.runIDs("--status", "running"))
	assert.Equal(t, []string{left.RunID}, c.runIDs("left", "--status", "running"))
	assert.Equal(t, []string{withdrawn.RunID}, c.runIDs("withdrawn", "--status", "terminated"))

	code, stdout, stderr := c.runs("cancel", "left", left.WorkflowID, "--reason", "not needed")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "asked to cancel "+left.RunID+" of left\n", stdout)
	code, stdout, stderr = c.runs("terminate", "hand", hand.RunID)
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "terminating "+hand.RunID+" of hand\n", stdout)
	natstest.Eventually(t, natstest.Patience, "both have ended, which their history says a moment after they have left the queue", func() bool {
		return len(c.runIDs("--status", "running")) == 0 && len(c.runIDs("hand", "--status", "terminated")) == 1 &&
			len(c.runIDs("left", "--status", "canceled")) == 1
	})
	code, stdout, stderr = c.runs("describe", "left", left.RunID, "-o", "json")
	require.Equal(t, ExitOK, code, stderr)
	var run schedule.Run
	require.NoError(t, json.Unmarshal([]byte(stdout), &run))
	assert.Equal(t, schedule.StatusCanceled, run.Status)
	assert.Contains(t, run.Failure.Message, "not needed")
	code, stdout, stderr = c.runs("terminate", "hand", hand.RunID)
	require.Equal(t, ExitOK, code, stderr)
	assert.Contains(t, stdout, "has ended already, as terminated")
	code, _, stderr = c.runs("terminate", "hand", "x")
	assert.Equal(t, ExitNotFound, code, stderr)
	server.stopped(t)
}

// TestNamespaceMadeAnewEndToEnd: no run of a deleted namespace begins in a later namespace of the same name.
func TestNamespaceMadeAnewEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	in := func(args ...string) (int, string, string) { return c.about("namespace", args...) }
	code, _, stderr := in("create", "trial", "--max-pending-runs", "1")
	require.Equal(t, ExitOK, code, stderr)
	trial := func(args ...string) []string { return append(args, "--namespace", "trial") }
	c.ok(trial("create", "old", "--type", "noop", "--task-queue", "nobody")...)
	c.ok(trial("trigger", "old")...)
	natstest.Eventually(t, natstest.Patience, "a run is queued", func() bool {
		return len(c.runIDs(trial("--status", "running")...)) == 1
	})
	c.ok(trial("delete", "old", "--runs-policy", "leave")...)
	code, _, stderr = in("delete", "trial", "--runs-policy", "leave")
	assert.Equal(t, ExitUsage, code, stderr)
	code, _, stderr = in("delete", "trial", "--wait", "--yes", "--force")
	require.Equal(t, ExitOK, code, stderr)
	code, _, stderr = in("create", "trial", "--max-pending-runs", "1")
	require.Equal(t, ExitOK, code, stderr)
	c.ok(trial("create", "new", "--type", "noop", "--task-queue", "nobody")...)
	worker := startDaemon(t, "worker", "--task-queue", "nobody", "--namespace", "trial", "--nats", url)
	c.ok(trial("trigger", "new", "--wait")...) // the limit leaves room for it
	natstest.Eventually(t, natstest.Patience, "the history tells of it", func() bool {
		return len(c.runIDs(trial("new", "--status", "completed")...)) == 1
	})
	assert.Empty(t, c.runIDs(trial("old", "--status", "completed")...), "the old one never runs")
	worker.stopped(t)
	server.stopped(t)
}
