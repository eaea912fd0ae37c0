package cli

import (
	"context"
	"encoding/json"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// greeting waits for the signal "go" if it is told to, and then returns a greeting.
func greeting(ctx workflow.Context, name string, wait bool) (string, error) {
	if wait {
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, &name)
	}
	if name == "nobody" {
		return "", temporal.NewNonRetryableApplicationError("there is nobody", "Nobody", nil)
	}
	return "hello " + name, nil
}

// stuck waits for an activity that fails each time.
func stuck(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, "Fail").Get(ctx, nil)
}

// workflowCLI runs workflow commands against a server that has a worker of Temporal's SDK.
type workflowCLI struct {
	t       *testing.T
	address string
}

func newWorkflowCLI(t *testing.T) workflowCLI {
	t.Helper()
	d := startDaemonIn(t, map[string]string{"CARILLON_GRPC": "127.0.0.1:0", "CARILLON_HTTP_API": off},
		"server", "--port", "-1", "--data", t.TempDir(), "--log-level", "warn")
	c := workflowCLI{t, d.output(t, `Temporal +([\d.:]+)`)}
	client, err := sdkclient.Dial(sdkclient.Options{HostPort: c.address, Logger: sdklog.NewStructuredLogger(natstest.Logger(t))})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	w := sdkworker.New(client, "greetings", sdkworker.Options{})
	w.RegisterWorkflowWithOptions(greeting, workflow.RegisterOptions{Name: "Greeting"})
	w.RegisterWorkflowWithOptions(stuck, workflow.RegisterOptions{Name: "Stuck"})
	registerFamily(w)
	w.RegisterActivityWithOptions(func(context.Context) error { return temporal.NewApplicationError("not today", "Busy") },
		activity.RegisterOptions{Name: "Fail"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return c
}

func (c workflowCLI) run(args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_ADDRESS": c.address}}
	code = p.run(c.t.Context(), append([]string{"workflow"}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func (c workflowCLI) ok(args ...string) string {
	c.t.Helper()
	code, stdout, stderr := c.run(args...)
	require.Equal(c.t, ExitOK, code, "%v: %s", args, stderr)
	return stdout
}

// TestWorkflowCommands takes workflows through everything that the commands do.
func TestWorkflowCommands(t *testing.T) {
	t.Parallel()
	c := newWorkflowCLI(t)
	start := func(id, input string, more ...string) []string {
		return append([]string{"start", id, "--type", "Greeting", "--task-queue", "greetings", "--input", input}, more...)
	}
	assert.Equal(t, "\"hello world\"\n", c.ok(start("w1", `["world", false]`, "--wait", "--memo", "by=\"me\"")...))
	assert.Regexp(t, `^started w2, run \S{36}\n$`, c.ok(start("w2", `["x", true]`, "--execution-timeout", "1h")...))
	assert.Regexp(t, `^is running already: w2, run`, c.ok(start("w2", `["x"]`, "--id-conflict-policy", "use-existing")...))
	code, _, stderr := c.run(start("w2", `["x"]`)...)
	assert.Equal(t, ExitConflict, code, stderr)
	code, _, stderr = c.run(start("w1", `["x"]`, "--id-reuse-policy", "reject-duplicate")...)
	assert.Equal(t, ExitConflict, code, stderr)

	assert.Equal(t, "signaled w2\n", c.ok("signal", "w2", "--name", "go", "--input", `["ann"]`))
	code, stdout, stderr := c.run(start("w3", `["nobody", false]`, "--wait")...)
	assert.Equal(t, ExitFailure, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "error: workflow w3 has failed: there is nobody\n", stderr)
	assert.Equal(t, "\"hello ann\"\n", c.ok("result", "w2"))
	assert.JSONEq(t, `["hello ann"]`, c.ok("result", "w2", "-o", "json"))
	c.ok(start("w4", `["x", true]`)...)
	assert.Equal(t, "terminated w4\n", c.ok("terminate", "w4", "--reason", "enough"))
	code, _, stderr = c.run("result", "w4")
	assert.Equal(t, ExitFailure, code)
	assert.Equal(t, "error: workflow w4 has been terminated: enough\n", stderr)
	code, _, stderr = c.run(start("w6", `["x", true]`, "--wait", "--execution-timeout", "1s")...)
	assert.Equal(t, ExitFailure, code)
	assert.Equal(t, "error: workflow w6 has timed out\n", stderr)
	c.ok(start("w5", `["x", true]`)...)
	assert.Equal(t, "asked to cancel w5\n", c.ok("cancel", "w5"))

	natstest.Eventually(t, patience, "all but one have ended", func() bool {
		return regexp.MustCompile(`(?m)^completed +w2 `).MatchString(c.ok("list")) // the signal has let it go on
	})
	list := c.ok("list", "--query", "WorkflowType = 'Greeting'")
	for _, line := range []string{`^STATUS +WORKFLOW +TYPE`, `^completed +w1 +Greeting`, `^failed +w3 `, `^terminated +w4 `} {
		assert.Regexp(t, "(?m)"+line, list)
	}
	assert.Equal(t, "w3\n", c.ok("list", "--query", "ExecutionStatus = 'Failed'", "--quiet"))
	assert.Equal(t, "no workflows\n", c.ok("list", "--query", "WorkflowType = 'Other'"))
	assert.Len(t, regexp.MustCompile(`\n`).FindAllString(c.ok("list", "--limit", "2", "-o", "jsonl"), -1), 2)
}

// TestWorkflowReset: a workflow goes on from an earlier point, with the signals that came after it or without.
func TestWorkflowReset(t *testing.T) {
	t.Parallel()
	c := newWorkflowCLI(t)
	c.ok("start", "w1", "--type", "Greeting", "--task-queue", "greetings", "--input", `["x", true]`)
	natstest.Eventually(t, patience, "the signal comes after the first task", func() bool {
		return strings.Contains(c.ok("show", "w1"), "WorkflowTaskCompleted")
	})
	c.ok("signal", "w1", "--name", "go", "--input", `["ann"]`)
	assert.Equal(t, "\"hello ann\"\n", c.ok("result", "w1"))
	assert.Regexp(t, `^reset w1 to event \d+, run \S{36}\n$`, c.ok("reset", "w1", "--task", "last", "--reason", "a bug is mended"))
	assert.Equal(t, "\"hello ann\"\n", c.ok("result", "w1"))
	c.ok("reset", "w1", "--task", "first", "--reapply-exclude", "signal", "--reapply-exclude", "update")
	c.ok("signal", "w1", "--name", "go", "--input", `["ben"]`)
	assert.Equal(t, "\"hello ben\"\n", c.ok("result", "w1"))
	shown := c.ok("show", "w1")
	assert.Contains(t, shown, "WorkflowTaskFailed")
	for args, want := range map[string]string{
		"":                                      "one of --task and --event is needed",
		"--task last --event 4":                 "one of --task and --event is needed",
		"--task 4":                              "first, last",
		"--task last --reapply-exclude signals": `--reapply-exclude: "signals" is not possible: use signal, update`,
	} {
		code, _, stderr := c.run(append([]string{"reset", "w1"}, strings.Fields(args)...)...)
		assert.Equal(t, ExitUsage, code, args)
		assert.Contains(t, stderr, want)
	}
	code, _, stderr := c.run("reset", "w1", "--event", "1000")
	assert.Equal(t, ExitUsage, code)
	assert.Contains(t, stderr, "WorkflowTaskFinishEventId is 1000: it must be > 1 and <= ")
}

// TestWorkflowShown: the tables and the formats for programs.
func TestWorkflowShown(t *testing.T) {
	t.Parallel()
	c := newWorkflowCLI(t)
	c.ok("start", "w1", "--type", "Greeting", "--task-queue", "greetings", "--input", `["world", false]`, "--wait")
	shown := c.ok("show", "w1")
	for _, line := range []string{`^1 +\S+ \S+ +WorkflowExecutionStarted +Greeting$`, `WorkflowTaskScheduled$`, `WorkflowExecutionCompleted$`} {
		assert.Regexp(t, "(?m)"+line, shown)
	}
	var events []struct {
		EventID   string `json:"eventId"`
		EventType string `json:"eventType"`
	}
	require.NoError(t, json.Unmarshal([]byte(c.ok("show", "w1", "-o", "json")), &events))
	require.NotEmpty(t, events)
	assert.Equal(t, "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED", events[0].EventType)
	assert.Regexp(t, `(?m)^Status +completed$`, c.ok("describe", "w1"))

	c.ok("start", "w2", "--type", "Stuck", "--task-queue", "greetings")
	natstest.Eventually(t, patience, "the activity has failed", func() bool {
		return regexp.MustCompile(`(?m)^\s*\d+ +Fail +\w+ +\d+ +not today$`).MatchString(c.ok("describe", "w2"))
	})
	assert.Contains(t, c.ok("describe", "w2", "-o", "yaml"), "pendingActivities:")
	c.ok("terminate", "w2")
}

// TestWorkflowErrors: one clear line, and the exit code that says of which kind the error is.
func TestWorkflowErrors(t *testing.T) {
	t.Parallel()
	c := newWorkflowCLI(t)
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"start":                                {ExitUsage, "--type is missing"},
		"start --type T --input {":             {ExitUsage, "--input: "},
		"start --type T --input 1":             {ExitUsage, "--input: is not a list"},
		"start --type T --id-reuse-policy x":   {ExitUsage, "--id-reuse-policy: "},
		"start --type T --execution-timeout x": {ExitUsage, "--execution-timeout: "},
		"signal w":                             {ExitUsage, "--name is missing"},
		"signal":                               {ExitUsage, "ID is missing"},
		"signal w --name go":                   {ExitNotFound, "carillon workflow list shows the workflows"},
		"describe w":                           {ExitNotFound, "hint: "},
		"show w":                               {ExitNotFound, "hint: "},
		"cancel w":                             {ExitNotFound, "hint: "},
		"terminate w --run-id x":               {ExitUsage, "error: "},
		"list --limit 0":                       {ExitUsage, "--limit: 0 is out of range: use 1 to 100000"},
		"list --query x":                       {ExitUsage, "error: "},
		"list --namespace nowhere":             {ExitNotFound, "nowhere"},
		"list --tls --tls-ca nowhere":          {ExitUsage, "--tls-ca: "},
		"list --address 127.0.0.1:1":           {ExitUnavailable, "the gateway at 127.0.0.1:1: "},
	} {
		code, stdout, stderr := c.run(shellWords(line)...)
		assert.Equal(t, want.code, code, "%s: %s", line, stderr)
		assert.Contains(t, stderr, want.text, line)
		assert.Empty(t, stdout, line)
	}
}

// pages is a gateway that has some workflows, and answers in pages of at most a thousand.
type pages struct {
	workflowservice.UnimplementedWorkflowServiceServer
	has int
}

func (p *pages) ListWorkflowExecutions(
	_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	from, _ := strconv.Atoi(string(r.NextPageToken))
	to := min(p.has, from+int(min(r.PageSize, 1000)))
	reply := &workflowservice.ListWorkflowExecutionsResponse{}
	for i := from; i < to; i++ {
		reply.Executions = append(reply.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: strconv.Itoa(i)},
		})
	}
	if to < p.has {
		reply.NextPageToken = []byte(strconv.Itoa(to))
	}
	return reply, nil
}

// TestLongWorkflowList has more workflows than a page.
func TestLongWorkflowList(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, &pages{has: 2500})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c := workflowCLI{t, listener.Addr().String()}
	for limit, want := range map[string]int{"20": 20, "1000": 1000, "2001": 2001, "5000": 2500} {
		assert.Len(t, strings.Fields(c.ok("list", "--quiet", "--limit", limit)), want)
	}
}

// TestWorkflowEndings: one line for each way to end without a result, and the run in which a workflow goes on.
func TestWorkflowEndings(t *testing.T) {
	t.Parallel()
	for want, last := range map[string]*historypb.HistoryEvent{
		"has been canceled": {Attributes: &historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes{
			WorkflowExecutionCanceledEventAttributes: &historypb.WorkflowExecutionCanceledEventAttributes{}}},
		"has been terminated": {Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
			WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{}}},
		"has no result: its last event is Unspecified": {},
	} {
		assert.Equal(t, want, endingText(last))
		assert.Empty(t, execution.NextRun(last))
	}
	assert.Equal(t, "run", execution.NextRun(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
		WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: "run"}}}))
}
