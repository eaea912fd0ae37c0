package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// running returns the runs in progress of a schedule.
func (c cli) running(id string) []schedule.Run { return c.describe(id).Info.RunningWorkflows }

// complete asks for the shell completions after some words.
func (c cli) complete(words ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats}}
	code = p.run(c.t.Context(), append([]string{"__complete"}, words...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func TestEndRunEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "nap", "--type", "sleep", "--input", `"1h"`, "--overlap", "allow_all")
	watch := startDaemon(t, "run", "watch", "nap", "--nats", url)
	watch.output(t, `(TIME)`)
	c.ok("trigger", "nap")
	c.ok("trigger", "nap")
	d := c.until("nap", "two runs are in progress", func(d schedule.Description) bool { return len(d.Info.RunningWorkflows) == 2 })
	one, two := d.Info.RunningWorkflows[0], d.Info.RunningWorkflows[1]
	code, list, stderr := c.runs("list", "--status", "running", "-q")
	require.Equal(t, ExitOK, code, stderr)
	assert.ElementsMatch(t, []string{one.RunID, two.RunID}, []string{list[:36], list[37:73]})

	code, offered, stderr := c.complete("run", "cancel", "nap", "nap-")
	require.Equal(t, ExitOK, code, stderr)
	assert.Contains(t, offered, one.WorkflowID+"\trunning\n")

	code, stdout, stderr := c.runs("cancel", "nap", one.WorkflowID, "--reason", "wrong input", "--identity", "ann@desk")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "asked to cancel "+one.RunID+" of nap\n", stdout)
	code, stdout, stderr = c.runs("terminate", "nap", two.RunID, "--identity", "bob@desk")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "terminating "+two.RunID+" of nap\n", stdout)
	c.until("nap", "both have ended", func(d schedule.Description) bool { return len(d.Info.RunningWorkflows) == 0 })

	watch.output(t, `(cancel requested) .* wrong input, nap-\S+, by ann@desk`)
	watch.output(t, `(terminating) .* nap-\S+, by bob@desk`)
	watch.output(t, `canceled() `)
	watch.output(t, `terminated .* terminated by (bob@desk)`)
	assert.NotContains(t, watch.stdout.String(), "triggered", "it is about runs")
	watch.stopped(t)

	code, stdout, stderr = c.runs("terminate", "nap", two.RunID)
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "has ended already, as terminated: "+two.RunID+" of nap\n", stdout)
	testEndRunErrors(t, c, one.RunID)
	server.stopped(t)
}

func testEndRunErrors(t *testing.T, c cli, canceled string) {
	t.Helper()
	c.ok("create", "quick", "--type", "noop")
	c.ok("trigger", "quick", "--wait")
	_, run, _ := c.runs("list", "quick", "-q")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"cancel", "quick", run[:36]}, ExitConflict, "has ended already, as completed\nhint: carillon run list quick shows the newest runs\n"},
		{[]string{"cancel", "quick", "x"}, ExitNotFound, "has no run \"x\" in progress\nhint: carillon run list quick shows"},
		{[]string{"terminate", "nap", canceled}, ExitConflict, "has ended already, as canceled"},
		{[]string{"cancel", "quik", "x"}, ExitNotFound, "hint: did you mean \"quick\"? carillon schedule list shows"},
		{[]string{"cancel", "quick"}, ExitUsage, "RUN is missing"},
	} {
		code, _, stderr := c.runs(test.args...)
		assert.Equal(t, test.code, code, test.args)
		assert.Contains(t, stderr, test.want)
	}
}

// TestTerminateWithoutWorker: a terminated run that no worker has taken never starts.
func TestTerminateWithoutWorker(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "x", "--type", "noop", "--task-queue", "nobodys")
	c.ok("trigger", "x")
	natstest.Eventually(t, patience, "the run is in progress", func() bool { return len(c.running("x")) == 1 })
	code, _, stderr := c.runs("terminate", "x", c.running("x")[0].RunID, "-q")
	require.Equal(t, ExitOK, code, stderr)
	d := c.until("x", "it has ended", func(d schedule.Description) bool { return len(d.Info.RunningWorkflows) == 0 })
	assert.Equal(t, schedule.StatusTerminated, d.Info.RecentActions[0].Status)
	server.stopped(t)
}
