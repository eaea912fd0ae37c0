package consistency_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/history"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// flows is an installation with workflows.
type flows struct {
	*installation
	polls *offer.Polls
}

func newFlows(t *testing.T) *flows {
	t.Helper()
	return flowsOn(newInstallation(t))
}

// flowsOn adds matching, and a gateway's polls, to an installation.
func flowsOn(s *installation) *flows {
	s.Helper()
	polls, err := offer.NewPolls(offer.Config{Conn: bus.Plain{Conn: s.conn}, Names: s.names, Logger: natstest.Logger(s)})
	require.NoError(s, err)
	m, err := matching.New(matching.Config{
		JS: s.js, Names: s.names, Logger: natstest.Logger(s), Starter: matching.NewStarter(owners.Anybody(s.conn), s.names, 2), Every: 200 * time.Millisecond,
	})
	require.NoError(s, err)
	s.background(polls.Run, m.Run)
	return &flows{s, polls}
}

// history runs a process of history until the end of the test, or until the function that it returns is called.
func (f *flows) history() (stop func()) {
	f.Helper()
	service, err := history.New(history.Config{
		JS: f.js, Names: f.names, Shards: 2, Logger: natstest.Logger(f), Namespaces: namespaces.Fixed{"default": schedule.Namespace{Name: "default"}},
	})
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(f, <-ended)
	})
	f.Cleanup(stop)
	select {
	case <-service.Ready():
	case <-time.After(patience):
		require.Fail(f, "history does not begin")
	}
	return stop
}

func flow(id string) schedule.Key { return schedule.Key{Namespace: "default", ID: id} }

func (f *flows) subject(id, verb string) string {
	return f.names.Execution(f.shard(flow(id)), "default", verb)
}

// begin starts a workflow and returns its run ID.
func (f *flows) begin(id string) string {
	f.Helper()
	var got workflowservice.StartWorkflowExecutionResponse
	require.NoError(f, call.Ask(f.Context(), f.conn, f.subject(id, subjects.VerbStart), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: "greet"},
		TaskQueue: &taskqueuepb.TaskQueue{Name: "flows"}, RequestId: "start-" + id,
	}, &got))
	return got.RunId
}

// poll waits for a task; nil if ctx ends before.
func (f *flows) poll(ctx context.Context, kind offer.Kind, into proto.Message) bool {
	data, err := f.polls.Wait(ctx, offer.Queue{Namespace: "default", Kind: kind, Name: "flows"}, offer.Poller{Identity: "worker"})
	if err != nil || data == nil {
		return false
	}
	return assert.NoError(f, proto.Unmarshal(data, into))
}

// await waits for a task, which must come.
func (f *flows) await(kind offer.Kind, into proto.Message) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	require.True(f, f.poll(ctx, kind, into), "no %s task came", kind)
}

func (f *flows) workflowTask() *workflowservice.PollWorkflowTaskQueueResponse {
	f.Helper()
	var task workflowservice.PollWorkflowTaskQueueResponse
	f.await(offer.Workflow, &task)
	return &task
}

func (f *flows) activityTask() *workflowservice.PollActivityTaskQueueResponse {
	f.Helper()
	var task workflowservice.PollActivityTaskQueueResponse
	f.await(offer.Activity, &task)
	return &task
}

func (f *flows) respond(task *workflowservice.PollWorkflowTaskQueueResponse, commands ...*commandpb.Command) error {
	return call.Ask(f.Context(), f.conn, f.subject(task.GetWorkflowExecution().GetWorkflowId(), subjects.VerbCompleteWorkflowTask),
		&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: "default", TaskToken: task.TaskToken, Commands: commands}, nil)
}

func (f *flows) respondActivity(task *workflowservice.PollActivityTaskQueueResponse) error {
	return call.Ask(f.Context(), f.conn, f.subject(task.GetWorkflowExecution().GetWorkflowId(), subjects.VerbCompleteActivity),
		&workflowservice.RespondActivityTaskCompletedRequest{Namespace: "default", TaskToken: task.TaskToken}, nil)
}

func completeFlow() *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
		},
	}
}

func scheduleActivity(id string) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes: &commandpb.Command_ScheduleActivityTaskCommandAttributes{
			ScheduleActivityTaskCommandAttributes: &commandpb.ScheduleActivityTaskCommandAttributes{
				ActivityId: id, ActivityType: &commonpb.ActivityType{Name: "hello"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "flows"},
				StartToCloseTimeout: durationpb.New(time.Minute),
			},
		},
	}
}

func startTimer(id string, after time.Duration) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_TIMER,
		Attributes: &commandpb.Command_StartTimerCommandAttributes{StartTimerCommandAttributes: &commandpb.StartTimerCommandAttributes{
			TimerId: id, StartToFireTimeout: durationpb.New(after),
		}},
	}
}

func startChild(id string) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &commandpb.StartChildWorkflowExecutionCommandAttributes{
				WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: "greet"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "flows"},
			},
		},
	}
}

func signalOther(id string) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_SignalExternalWorkflowExecutionCommandAttributes{
			SignalExternalWorkflowExecutionCommandAttributes: &commandpb.SignalExternalWorkflowExecutionCommandAttributes{
				Execution: &commonpb.WorkflowExecution{WorkflowId: id}, SignalName: "s",
			},
		},
	}
}

func (f *flows) status(id string) enumspb.WorkflowExecutionStatus {
	f.Helper()
	var got workflowservice.DescribeWorkflowExecutionResponse
	require.NoError(f, call.Ask(f.Context(), f.conn, f.subject(id, subjects.VerbDescribe), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: id},
	}, &got))
	return got.WorkflowExecutionInfo.Status
}

// settled waits until history has done all that the journals make due.
func (f *flows) settled() {
	f.Helper()
	f.eventually("all entries are settled", func() bool {
		for shard := range 2 {
			of := f.names.Transfer(shard)
			consumer, err := f.js.Consumer(f.Context(), of.Stream, of.Config.Durable)
			if err != nil || consumer.CachedInfo().NumPending+uint64(consumer.CachedInfo().NumAckPending) > 0 {
				return false
			}
		}
		return true
	})
}

// wakeless removes the delayed messages of a workflow.
func (f *flows) wakeless(id string) {
	f.Helper()
	f.purge(f.names.TaskStream(f.shard(flow(id))), f.names.ExecutionTimers(f.shard(flow(id)), flow(id)))
}

// ends works on a workflow's only task, and ends it.
func (f *flows) ends(id string) {
	f.Helper()
	require.NoError(f, f.respond(f.workflowTask(), completeFlow()))
	require.Equal(f, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, f.status(id))
}
