package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// family has a child that completes, one that fails, and one that waits; then it waits for an activity, a timer and the signal "go".
func family(ctx workflow.Context) error {
	child := func(id, name string, wait bool) workflow.ChildWorkflowFuture {
		ctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
		return workflow.ExecuteChildWorkflow(ctx, "Greeting", name, wait)
	}
	if err := child("done", "x", false).Get(ctx, nil); err != nil {
		return err
	}
	if err := child("failed", "nobody", false).Get(ctx, nil); err == nil {
		return temporal.NewApplicationError("the child has not failed", "Test")
	}
	waiting := child("waiting", "x", true)
	once := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	if err := workflow.ExecuteActivity(once, "Fail").Get(ctx, nil); err == nil {
		return temporal.NewApplicationError("the activity has not failed", "Test")
	}
	again := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	workflow.ExecuteActivity(again, "Fail")
	workflow.NewTimer(ctx, time.Hour)
	if err := workflow.SetQueryHandler(ctx, "sum", func(a, b int) (int, error) { return a + b, nil }); err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	return waiting.Get(ctx, nil)
}

func registerFamily(w sdkworker.Worker) {
	w.RegisterWorkflowWithOptions(family, workflow.RegisterOptions{Name: "Family"})
}

// TestWorkflowTrace: the tree has the children, and what each waits for; with --follow it comes again until the workflow has ended.
func TestWorkflowTrace(t *testing.T) {
	t.Parallel()
	c := newWorkflowCLI(t)
	c.ok("start", "f", "--type", "Family", "--task-queue", "greetings")
	natstest.Eventually(t, patience, "it waits", func() bool {
		return regexp.MustCompile(`(?s)timer .*running waiting .*completed 1 activity|timer `).MatchString(c.ok("trace", "f")) &&
			strings.Contains(c.ok("trace", "f"), "not today\n├─ failed") && strings.Contains(c.ok("trace", "f"), "running waiting")
	})
	tree := c.ok("trace", "f")
	for _, line := range []string{
		`^running f  Family  started \S+( ago)?$`, `^├─ \w+ activity \d+  Fail  attempt \d+: not today$`, `^├─ failed activity \d+  Fail: not today$`,
		`^├─ timer \S+  in \d+m$`, `^├─ completed 1 child$`, `^├─ failed failed  Greeting  has failed: there is nobody, `, `^└─ running waiting  Greeting  started `,
	} {
		assert.Regexp(t, "(?m)"+line, tree)
	}
	assert.Regexp(t, `(?m)^├─ completed done  Greeting  `, c.ok("trace", "f", "--all"))
	assert.Regexp(t, `(?m)^├─ failed failed  Greeting  \S+( ago)?$`, c.ok("trace", "f", "--depth", "0"), "what the parent knows")

	followed := make(chan string)
	go func() {
		_, out, _ := c.run("trace", "f", "--follow")
		followed <- out
	}()
	c.ok("signal", "f", "--name", "go")
	c.ok("signal", "waiting", "--name", "go", "--input", `["ann"]`)
	all := <-followed
	last := all[strings.LastIndex(all, " f  Family")-len("completed"):]
	assert.Regexp(t, `^completed f  Family  `, last)
	assert.Contains(t, last, "completed 2 children\n")

	var shown render.Trace
	require.NoError(t, json.Unmarshal([]byte(c.ok("trace", "f", "-o", "json")), &shown))
	assert.Equal(t, 2, shown.CompletedChildren)
	require.Len(t, shown.Children, 1)
	assert.Equal(t, "has failed: there is nobody", shown.Children[0].Ending)

	code, _, stderr := c.run("trace", "failed", "--follow")
	assert.Equal(t, ExitFailure, code)
	assert.Equal(t, "error: workflow failed has failed: there is nobody\n", stderr)
	code, _, stderr = c.run("trace", "f", "--depth", "-1")
	assert.Equal(t, ExitUsage, code)
	assert.Contains(t, stderr, "--depth: -1 is out of range: use 0 or more")
}

// TestWorkflowQueries: the code of a workflow answers, also after its end.
func TestWorkflowQueries(t *testing.T) {
	t.Parallel()
	c := newWorkflowCLI(t)
	c.ok("start", "f", "--type", "Family", "--task-queue", "greetings")
	natstest.Eventually(t, patience, "the query is known", func() bool {
		code, stdout, _ := c.run("query", "f", "--name", "sum", "--input", "[2, 3]")
		return code == ExitOK && stdout == "5\n"
	})
	assert.Contains(t, c.ok("stack", "f"), "\ngo.temporal.io/sdk/internal.")
	assert.Contains(t, c.ok("stack", "f", "-o", "json"), "coroutine root")
	assert.Contains(t, c.ok("query", "f", "--name", "__temporal_workflow_metadata"), `"sum"`)
	code, _, stderr := c.run("query", "f", "--name", "other")
	assert.NotEqual(t, ExitOK, code)
	assert.Contains(t, stderr, "unknown queryType other")
	code, _, stderr = c.run("query", "f")
	assert.Equal(t, ExitUsage, code)
	assert.Contains(t, stderr, "--name is missing")
	c.ok("terminate", "f")
	assert.Equal(t, "5\n", c.ok("query", "f", "--name", "sum", "--input", "[2, 3]"))
}
