package history

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	space = "default"
	queue = "q"
)

// bundle is an installation with history and a worker, whose polls a gateway would have.
type bundle struct {
	testing.TB
	js    jetstream.JetStream
	conn  *nats.Conn
	names subjects.Names
	facts topology.Facts
	polls *offer.Polls
	// timeout is that of the tasks of workflows that work serves; as it is by default if it is zero.
	timeout time.Duration
}

// setup makes an installation without history on the shared server.
func setup(t testing.TB) *bundle {
	t.Helper()
	return setupOn(t, natstest.Shared(t).ClientURL(), 1)
}

func setupOn(t testing.TB, url string, replicas int) *bundle {
	t.Helper()
	conn, js := natstest.Connect(t, url)
	b := &bundle{TB: t, js: js, conn: conn, names: natstest.Names(t)}
	var err error
	b.facts, err = topology.Ensure(t.Context(), js, b.names, topology.Settings{Shards: 2, Replicas: replicas})
	require.NoError(t, err)
	b.polls, err = offer.NewPolls(offer.Config{Conn: bus.Plain{Conn: conn}, Names: b.names, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	b.background(b.polls.Run)
	b.serveBacklog()
	return b
}

// background runs something until the end of the test, or until the function that it returns is called.
func (b *bundle) background(run func(context.Context) error) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(b, <-ended)
		})
	}
	b.Cleanup(stop)
	return stop
}

// run runs a process of history on a connection of its own, until the end of the test or until stop is called.
func (b *bundle) run(change ...func(*Config)) (s *Service, stop func()) {
	b.Helper()
	_, js := natstest.Connect(b, b.conn.ConnectedUrl())
	config := b.config(js)
	for _, one := range change {
		one(&config)
	}
	s, err := New(config)
	require.NoError(b, err)
	stop = b.background(s.Run)
	select {
	case <-s.Ready():
	case <-time.After(natstest.Patience):
		b.Fatal("history does not begin")
	}
	return s, stop
}

func (b *bundle) config(js jetstream.JetStream) Config {
	return Config{
		JS: js, Names: b.names, Shards: b.facts.Shards, Logger: natstest.Logger(b),
		Namespaces: namespaces.Fixed{space: schedule.Namespace{Name: space}},
	}
}

func (b *bundle) key(id string) schedule.Key { return schedule.Key{Namespace: space, ID: id} }

// ask sends a request to history.
func ask[Response any, M interface {
	*Response
	proto.Message
}](b *bundle, verb, id string, request proto.Message) (M, error) {
	response := M(new(Response))
	subject := b.names.Execution(subjects.ShardOf(b.key(id), b.facts.Shards), space, verb)
	return response, call.Ask(b.Context(), b.conn, subject, request, response)
}

// start starts an execution and returns its run ID.
func (b *bundle) start(id string) string {
	b.Helper()
	got, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, id, startRequest(id))
	require.NoError(b, err)
	require.True(b, got.Started)
	return got.RunId
}

func startRequest(id string) *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace: space, WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: "greet"},
		TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, RequestId: "start-" + id, Identity: "test",
	}
}

// poll waits for a task of a queue.
func poll[Task any, M interface {
	*Task
	proto.Message
}](b *bundle, kind offer.Kind, name string) M {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), natstest.Patience)
	defer cancel()
	data, err := b.polls.Wait(ctx, offer.Queue{Namespace: space, Kind: kind, Name: name}, offer.Poller{Identity: "worker"})
	require.NoError(b, err)
	require.NotNil(b, data, "no task came")
	task := M(new(Task))
	require.NoError(b, proto.Unmarshal(data, task))
	return task
}

func (b *bundle) pollWorkflow() *workflowservice.PollWorkflowTaskQueueResponse {
	b.Helper()
	return poll[workflowservice.PollWorkflowTaskQueueResponse](b, offer.Workflow, queue)
}

func (b *bundle) pollActivity() *workflowservice.PollActivityTaskQueueResponse {
	b.Helper()
	return poll[workflowservice.PollActivityTaskQueueResponse](b, offer.Activity, queue)
}

// complete completes a workflow task with commands.
func (b *bundle) complete(
	task *workflowservice.PollWorkflowTaskQueueResponse, commands ...*commandpb.Command,
) *workflowservice.RespondWorkflowTaskCompletedResponse {
	b.Helper()
	got, err := ask[workflowservice.RespondWorkflowTaskCompletedResponse](b, subjects.VerbCompleteWorkflowTask,
		task.GetWorkflowExecution().GetWorkflowId(), &workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: space, TaskToken: task.TaskToken, Identity: "worker", Commands: commands,
		})
	require.NoError(b, err)
	return got
}

func (b *bundle) completeActivity(task *workflowservice.PollActivityTaskQueueResponse) {
	b.Helper()
	_, err := ask[workflowservice.RespondActivityTaskCompletedResponse](b, subjects.VerbCompleteActivity,
		task.GetWorkflowExecution().GetWorkflowId(), &workflowservice.RespondActivityTaskCompletedRequest{
			Namespace: space, TaskToken: task.TaskToken, Identity: "worker",
		})
	require.NoError(b, err)
}

func end() *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
		},
	}
}

func activity(id string, change ...func(*commandpb.ScheduleActivityTaskCommandAttributes)) *commandpb.Command {
	attributes := &commandpb.ScheduleActivityTaskCommandAttributes{
		ActivityId: id, ActivityType: &commonpb.ActivityType{Name: "hello"}, TaskQueue: &taskqueuepb.TaskQueue{Name: queue},
		StartToCloseTimeout: durationpb.New(time.Minute),
	}
	for _, one := range change {
		one(attributes)
	}
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes:  &commandpb.Command_ScheduleActivityTaskCommandAttributes{ScheduleActivityTaskCommandAttributes: attributes},
	}
}

func timer(id string, after time.Duration) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_TIMER,
		Attributes: &commandpb.Command_StartTimerCommandAttributes{StartTimerCommandAttributes: &commandpb.StartTimerCommandAttributes{
			TimerId: id, StartToFireTimeout: durationpb.New(after),
		}},
	}
}

func (b *bundle) execution(id, runID string) *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID}
}

// events returns the history of a run, in pages of the given size.
func (b *bundle) events(id, runID string, page int32) (all []*historypb.HistoryEvent) {
	b.Helper()
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: space, Execution: b.execution(id, runID), MaximumPageSize: page,
	}
	for {
		got, err := ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, id, request)
		require.NoError(b, err)
		all = append(all, got.GetHistory().GetEvents()...)
		if request.NextPageToken = got.NextPageToken; len(got.NextPageToken) == 0 {
			return all
		}
	}
}

// eventsBack returns the history of a run, the newest event first, in pages of the given size.
func (b *bundle) eventsBack(id, runID string, page int32) (all []*historypb.HistoryEvent, pages int) {
	b.Helper()
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: space, Execution: b.execution(id, runID), MaximumPageSize: page,
	}
	for {
		got, err := ask[workflowservice.GetWorkflowExecutionHistoryReverseResponse](b, subjects.VerbHistoryReverse, id, request)
		require.NoError(b, err)
		all = append(all, got.GetHistory().GetEvents()...)
		pages++
		if request.NextPageToken = got.NextPageToken; len(got.NextPageToken) == 0 {
			return all, pages
		}
	}
}

// requireSameBack requires the history to be the same in both directions, whatever the size of its pages.
func (b *bundle) requireSameBack(id, runID string, sizes ...int32) {
	b.Helper()
	want := b.events(id, runID, 0)
	slices.Reverse(want)
	for _, size := range sizes {
		got, _ := b.eventsBack(id, runID, size)
		require.Len(b, got, len(want))
		for i := range want {
			require.True(b, proto.Equal(want[i], got[i]), "size %d, event %d: %v", size, i, got[i])
		}
	}
}

// types returns the types of events, after a check that their IDs have no gap.
func types(t require.TestingT, events []*historypb.HistoryEvent) (all []enumspb.EventType) {
	for i, event := range events {
		require.EqualValues(t, i+1, event.GetEventId())
		all = append(all, event.GetEventType())
	}
	return all
}

func (b *bundle) describe(id, runID string) *workflowservice.DescribeWorkflowExecutionResponse {
	b.Helper()
	got, err := ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, id,
		&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution(id, runID)})
	require.NoError(b, err)
	return got
}

// settled waits until every entry of the journals has been acknowledged.
func (b *bundle) settled() {
	b.Helper()
	natstest.Eventually(b, natstest.Patience, "all entries are settled", func() bool {
		for shard := range b.facts.Shards {
			of := b.names.Transfer(shard)
			consumer, err := b.js.Consumer(b.Context(), of.Stream, of.Config.Durable)
			if err != nil || consumer.CachedInfo().NumPending > 0 || consumer.CachedInfo().NumAckPending > 0 {
				return false
			}
		}
		return true
	})
}

// awaitPoll waits until somebody polls a queue of workflow tasks.
func (b *bundle) awaitPoll(name string) {
	b.Helper()
	natstest.Eventually(b, natstest.Patience, "a worker polls "+name, func() bool {
		ctx, cancel := context.WithTimeout(b.Context(), 20*time.Millisecond)
		defer cancel()
		seen, err := offer.WhoPolls(ctx, b.conn, b.names, offer.Queue{Namespace: space, Kind: offer.Workflow, Name: name})
		return err == nil && len(seen.Workers) > 0
	})
}
