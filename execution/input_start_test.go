package execution

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestStartOfAScheduleIsNotRepeated: whoever starts a run for a schedule may ask again very late, when that run has ended and another client has
// started others. The run does not begin a second time.
func TestStartOfAScheduleIsNotRepeated(t *testing.T) {
	t.Parallel()
	state, now, sequence := &State{Key: Key{"default", "w"}}, time.Unix(1_000_000, 0), uint64(0)
	do := func(in Input) Decision {
		t.Helper()
		now = now.Add(time.Minute)
		d, err := Decide(state, in, now)
		require.NoError(t, err)
		if d.Entry != nil {
			sequence++
			stored, err := d.Entry.Marshal()
			require.NoError(t, err)
			entry, err := ParseEntry(stored)
			require.NoError(t, err)
			require.NoError(t, state.Apply(entry, sequence))
		}
		return d
	}
	start := func(name string, callback []byte) Start {
		return Start{RunID: "run-" + name, Callback: callback, Request: &workflowservice.StartWorkflowExecutionRequest{
			WorkflowId: "w", RequestId: name, WorkflowType: &commonpb.WorkflowType{Name: "t"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
		}}
	}
	end := Terminate{&workflowservice.TerminateWorkflowExecutionRequest{}}
	child := start("child", nil)
	child.Parent = &Parent{WorkflowID: "parent", RunID: "run-of-parent", Event: 5}
	require.NotNil(t, do(child).Entry)
	do(end)
	require.NotNil(t, do(start("between", nil)).Entry)
	do(end)
	require.Nil(t, do(child).Entry, "the same goes for the start of a child")
	first := start("first", []byte("schedule"))
	require.NotNil(t, do(first).Entry)
	do(end)
	for i := range mostEarlier {
		require.NotNil(t, do(start(fmt.Sprint("by-a-client-", i), nil)).Entry)
		require.NotNil(t, do(end).Entry)
		again := do(first)
		require.Nil(t, again.Entry)
		require.Equal(t, "run-first", again.Reply.(*workflowservice.StartWorkflowExecutionResponse).GetRunId())
	}
	for i := range mostEarlier - 1 {
		require.NotNil(t, do(start(fmt.Sprint("by-a-schedule-", i), []byte("schedule"))).Entry)
		do(end)
	}
	require.NotNil(t, do(start("last", nil)).Entry)
	require.Nil(t, do(first).Entry)
	require.Len(t, state.Run.Earlier, mostEarlier, "no more are kept")
}

// TestTimeoutsOfAStart: what nobody has asked for stays unset in the first event, and a run timeout ends with that of the execution.
func TestTimeoutsOfAStart(t *testing.T) {
	t.Parallel()
	seconds := func(n int64) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Second) }
	for name, c := range map[string]struct{ execution, run, wantRun, wantTask *durationpb.Duration }{
		"none":                {wantTask: seconds(10)},
		"zero":                {execution: seconds(0), run: seconds(0), wantRun: seconds(0), wantTask: seconds(10)},
		"of the execution":    {execution: seconds(60), wantRun: seconds(60), wantTask: seconds(10)},
		"of the run":          {run: seconds(5), wantRun: seconds(5), wantTask: seconds(5)},
		"the run's is longer": {execution: seconds(60), run: seconds(70), wantRun: seconds(60), wantTask: seconds(10)},
	} {
		d, err := Decide(&State{Key: Key{"default", "w"}}, Start{RunID: "run", Request: &workflowservice.StartWorkflowExecutionRequest{
			WorkflowId: "w", RequestId: "r", WorkflowType: &commonpb.WorkflowType{Name: "t"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
			WorkflowExecutionTimeout: c.execution, WorkflowRunTimeout: c.run,
		}}, time.Unix(1_000_000, 0))
		require.NoError(t, err, name)
		state := &State{Key: Key{"default", "w"}}
		require.NoError(t, state.Apply(d.Entry, 1), name)
		got := state.Run.Attributes
		for field, pair := range map[string][2]*durationpb.Duration{
			"execution": {c.execution, got.GetWorkflowExecutionTimeout()}, "run": {c.wantRun, got.GetWorkflowRunTimeout()},
			"task": {c.wantTask, got.GetWorkflowTaskTimeout()}, "backoff": {seconds(0), got.GetFirstWorkflowTaskBackoff()},
		} {
			require.True(t, proto.Equal(pair[0], pair[1]), "%s, %s: %v, not %v", name, field, pair[1], pair[0])
		}
	}
}
