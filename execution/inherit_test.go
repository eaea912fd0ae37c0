package execution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestWhatAWorkflowStartsInherits: activities and children have the priority of the workflow, where they do not say another. A workflow without
// a parent has no root in its first event, and is the root of its children.
func TestWhatAWorkflowStartsInherits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	state := &State{Key: Key{"default", "w"}}
	do := func(in Input) Decision {
		t.Helper()
		now = now.Add(time.Second)
		d, err := Decide(state, in, now)
		require.NoError(t, err)
		state = d.After
		state.Stored(state.Sequence + 1)
		return d
	}
	queue := &taskqueuepb.TaskQueue{Name: "q"}
	do(Start{RunID: "run", Request: &workflowservice.StartWorkflowExecutionRequest{
		WorkflowId: "w", WorkflowType: &commonpb.WorkflowType{Name: "t"}, TaskQueue: queue,
		Priority: &commonpb.Priority{PriorityKey: 1, FairnessKey: "acme", FairnessWeight: 2},
	}})
	require.Nil(t, state.Run.Attributes.GetRootWorkflowExecution())
	own := &commonpb.WorkflowExecution{WorkflowId: "w", RunId: "run"}
	require.True(t, proto.Equal(own, Describe(state).WorkflowExecutionInfo.RootExecution))

	task := do(StartWorkflowTask{RunID: "run", Event: 2, Attempt: 1, Queue: "q"}).Reply.(*workflowservice.PollWorkflowTaskQueueResponse)
	token, err := ParseToken(task.TaskToken)
	require.NoError(t, err)
	d := do(CompleteWorkflowTask{Token: token, Request: &workflowservice.RespondWorkflowTaskCompletedRequest{Commands: []*commandpb.Command{
		{CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK, Attributes: &commandpb.Command_ScheduleActivityTaskCommandAttributes{
			ScheduleActivityTaskCommandAttributes: &commandpb.ScheduleActivityTaskCommandAttributes{
				ActivityId: "a", ActivityType: &commonpb.ActivityType{Name: "a"}, TaskQueue: queue, StartToCloseTimeout: durationpb.New(time.Minute),
				Priority: &commonpb.Priority{PriorityKey: 5},
			},
		}},
		{CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &commandpb.StartChildWorkflowExecutionCommandAttributes{
				WorkflowId: "child", WorkflowType: &commonpb.WorkflowType{Name: "t"}, Priority: &commonpb.Priority{},
			},
		}},
	}}})
	children := Owed(state, d.Entry).Children
	require.Len(t, children, 1)
	require.True(t, proto.Equal(own, children[0].Parent.Root))
	require.True(t, proto.Equal(state.Run.Attributes.Priority, children[0].Start.Request.Priority))

	attempt := do(StartActivity{RunID: "run", Event: 5, Attempt: 1}).Reply.(*workflowservice.PollActivityTaskQueueResponse)
	require.True(t, proto.Equal(&commonpb.Priority{PriorityKey: 5, FairnessKey: "acme", FairnessWeight: 2}, attempt.Priority), "%v", attempt.Priority)
	require.Nil(t, mergedPriority(nil, nil))
}
