package metrics_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/history"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// flows is an installation with workflows, seen through a gateway.
type flows struct {
	*installation
	api workflowservice.WorkflowServiceClient
}

// newFlows adds a gateway, matching and two processes of history to an installation.
func newFlows(t *testing.T) *flows {
	t.Helper()
	s := newInstallation(t)
	logger := natstest.Logger(t)
	table := namespaces.NewTable(s.js, s.names, logger)
	records := kv.NewCluster(s.js, s.names)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g, err := gateway.New(gateway.Config{
		Conn: s.conn, JS: s.js, Names: s.names, Shards: 1, Created: time.Now(), API: s.client, Known: table,
		Records: namespaces.NewRecords(records), Cluster: records, GRPC: listener, Version: "1.0.0", Logger: logger, Anonymous: true,
		Dial: func(options ...nats.Option) (*nats.Conn, error) { return natstest.Shared(t).Connect(options...) },
	})
	require.NoError(t, err)
	m, err := matching.New(matching.Config{
		JS: s.js, Names: s.names, Logger: logger, Starter: matching.NewStarter(owners.Anybody(s.conn), s.names, 1), Every: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	roles := []func(context.Context) error{g.Run, m.Run, func(ctx context.Context) error { table.Run(ctx); return nil }}
	for range 2 {
		_, js := natstest.Connect(t, natstest.Shared(t))
		h, err := history.New(history.Config{JS: js, Names: s.names, Shards: 1, Logger: logger, Namespaces: table})
		require.NoError(t, err)
		roles = append(roles, h.Run)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range roles {
		group.Go(func() error { return run(ctx) })
	}
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		cancel()
		assert.NoError(t, group.Wait())
	})
	f := &flows{s, workflowservice.NewWorkflowServiceClient(conn)}
	f.eventually("the gateway serves the namespace", func(collected) bool {
		_, err := f.api.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
		return err == nil
	})
	return f
}

func queueOf(name string) *taskqueuepb.TaskQueue { return &taskqueuepb.TaskQueue{Name: name} }

// start starts a workflow. History may not have subscribed yet.
func (f *flows) start(id, queue string) {
	f.Helper()
	f.eventually("it is started", func(collected) bool {
		_, err := f.api.StartWorkflowExecution(f.Context(), &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: "greet"}, TaskQueue: queueOf(queue),
			RequestId: "start-" + id, Identity: "test",
		})
		return err == nil
	})
}

func (f *flows) signal(id string) {
	f.Helper()
	_, err := f.api.SignalWorkflowExecution(f.Context(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, SignalName: "s", Identity: "test",
	})
	require.NoError(f, err)
}

// signalAnybody signals a workflow by a request to any process of history.
func (f *flows) signalAnybody(id string) {
	f.Helper()
	require.NoError(f, call.Ask(f.Context(), f.conn, f.names.Execution(0, "default", subjects.VerbSignal),
		&workflowservice.SignalWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, SignalName: "s", Identity: "test",
		}, nil))
}

func (f *flows) workflowTask(queue string) *workflowservice.PollWorkflowTaskQueueResponse {
	f.Helper()
	task, err := f.api.PollWorkflowTaskQueue(f.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: "default", TaskQueue: queueOf(queue), Identity: "worker",
	})
	require.NoError(f, err)
	require.NotEmpty(f, task.TaskToken)
	return task
}

// respond completes a workflow task. The worker keeps the workflow in its cache, on a sticky queue.
func (f *flows) respond(task *workflowservice.PollWorkflowTaskQueueResponse, commands ...*commandpb.Command) {
	f.Helper()
	_, err := f.api.RespondWorkflowTaskCompleted(f.Context(), &workflowservice.RespondWorkflowTaskCompletedRequest{
		Namespace: "default", TaskToken: task.TaskToken, Commands: commands, Identity: "worker",
		StickyAttributes: &taskqueuepb.StickyExecutionAttributes{
			WorkerTaskQueue: queueOf("sticky"), ScheduleToStartTimeout: durationpb.New(time.Minute),
		},
	})
	require.NoError(f, err)
}

// TestWorkflows runs workflows through a gateway and looks at the metrics of what they do. It is not parallel, as TestSystem is not.
func TestWorkflows(t *testing.T) {
	f := newFlows(t)
	f.start("w", "flows")
	f.requireBacklog()
	task := f.workflowTask("flows")
	f.requireStarted()
	f.respond(task)
	f.requireSticky()
	f.requireHistory()
	f.requireFound()
	f.requireLimits()
	f.requireOneOfTwo()
	f.requireLost()
	f.requireRecovered()
	requireCatalogued(t, f.collect())
}

// requireBacklog: nobody polls, so the task waits.
func (f *flows) requireBacklog() {
	f.Helper()
	queue := []string{"namespace", "default", "kind", "workflow", "task_queue", "flows"}
	f.eventually("the backlog has the task", func(c collected) bool {
		return c.value(metrics.BacklogTasks.Instrument, queue...) == 1 &&
			c.of(metrics.BacklogAge.Instrument, queue...).value > 0 &&
			c.value(metrics.BacklogPolled.Instrument, queue...) == 0 &&
			c.value(metrics.Offers.Instrument, "source", "new", "outcome", "nobody") >= 1 &&
			c.value(metrics.BacklogStored.Instrument, "namespace", "default", "kind", "workflow") == 1
	})
}

// requireStarted: a poll has got the task from the backlog.
func (f *flows) requireStarted() {
	f.Helper()
	f.eventually("the task is started", func(c collected) bool {
		return c.value(metrics.BacklogSettled.Instrument, "kind", "workflow", "outcome", "started") == 1 &&
			c.value(metrics.Offers.Instrument, "source", "backlog", "outcome", "taken") >= 1 &&
			c.value(metrics.Polls.Instrument, "kind", "workflow", "outcome", "task") == 1 &&
			c.value(metrics.BacklogTasks.Instrument, "task_queue", "flows") == 0
	})
}

// requireSticky: the worker that has the workflow in its cache gets the next task. While it does not poll, another one does.
func (f *flows) requireSticky() {
	f.Helper()
	f.signal("w")
	f.respond(f.workflowTask("flows"))
	f.eventually("the worker is gone, and another one has got the task", func(c collected) bool {
		return c.value(metrics.StickyOffers.Instrument, "outcome", "missed") == 1
	})
	polling := make(chan *workflowservice.PollWorkflowTaskQueueResponse)
	go func() { polling <- f.workflowTask("sticky") }()
	sticky := offer.Queue{Namespace: "default", Kind: offer.Workflow, Name: "sticky"}
	f.eventually("the worker waits", func(c collected) bool {
		ctx, cancel := context.WithTimeout(f.Context(), 50*time.Millisecond)
		defer cancel()
		seen, err := offer.WhoPolls(ctx, f.conn, f.names, sticky)
		return err == nil && len(seen.Workers) == 1 && c.value(metrics.GatewayActive.Instrument) == 1
	})
	f.signal("w")
	task := <-polling
	f.eventually("its poll has got the task", func(c collected) bool {
		return c.value(metrics.StickyOffers.Instrument, "outcome", "taken") == 1
	})
	f.respond(task)
}

// requireHistory: entries, their requests and their work are counted.
func (f *flows) requireHistory() {
	f.Helper()
	_, err := f.api.DescribeWorkflowExecution(f.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "unknown"},
	})
	require.Error(f, err)
	f.eventually("history counts", func(c collected) bool {
		return c.value(metrics.HistoryEntries.Instrument, "namespace", "default") == f.entries("w") &&
			c.of(metrics.HistoryRequests.Instrument, "verb", "signal", "outcome", "ok").count == 2 &&
			c.of(metrics.HistoryRequests.Instrument, "verb", "describe", "outcome", "refused").count == 1 &&
			c.of(metrics.HistoryTransfer.Instrument).count >= 3 &&
			c.value(metrics.GatewayRequests.Instrument, "method", "SignalWorkflowExecution", "code", "OK") == 2 &&
			c.of(metrics.GatewayDuration.Instrument, "method", "DescribeWorkflowExecution").count == 1
	})
}

// requireFound: requests to the owner of an execution find it in its memory, after they have waited for their turn, and append to the stream of its shard.
func (f *flows) requireFound() {
	f.Helper()
	f.start("found", "unserved")
	cached, before := []string{"from", "cache"}, f.collect()
	f.eventually("a signal has found the execution in memory", func(c collected) bool {
		f.signal("found")
		return c.value(metrics.HistoryLoads.Instrument, cached...) > before.value(metrics.HistoryLoads.Instrument, cached...)
	})
	c := f.collect()
	assert.Greater(f, c.of(metrics.HistoryTurnWait.Instrument).count, before.of(metrics.HistoryTurnWait.Instrument).count)
	assert.Positive(f, c.of(metrics.HistoryAppend.Instrument, "stream", f.names.JournalStream(0), "outcome", "ok").count)
}

// requireLimits: what a process does at once, and what a namespace asks for, are seen beside their limits.
func (f *flows) requireLimits() {
	f.Helper()
	f.eventually("the memory is in use", func(c collected) bool {
		used := c.of(metrics.HistoryUsed.Instrument, "limit", "memory").value
		return used > 0 && used < 1 && len(c[metrics.HistoryUsed.Name]) == len(metrics.HistoryUsed.Attributes[0].Values)
	})
	c := f.collect()
	admitted := []string{"namespace", "default", "limit", "requests", "outcome", "admitted"}
	assert.Positive(f, c.value(metrics.GatewayAdmissions.Instrument, admitted...))
	assert.EqualValues(f, schedule.DefaultWorkflowRequestsPerSecond,
		c.of(metrics.GatewayLimit.Instrument, "namespace", "default", "limit", "requests").value)

	_, err := f.client.CreateNamespace(f.Context(), "narrow", schedule.CreateNamespaceRequest{
		Limits: schedule.NamespaceLimits{WorkflowRequestsPerSecond: 1},
	})
	require.NoError(f, err)
	f.eventually("a request of the narrow namespace is refused, and its limit is seen", func(c collected) bool {
		_, err := f.api.DescribeWorkflowExecution(f.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: "narrow", Execution: &commonpb.WorkflowExecution{WorkflowId: "w"},
		})
		require.Error(f, err)
		return c.value(metrics.GatewayAdmissions.Instrument, "namespace", "narrow", "limit", "requests", "outcome", "refused") > 0 &&
			c.value(metrics.GatewayLimit.Instrument, "namespace", "narrow", "limit", "requests") == 1
	})
}

// entries is how many entries the journal of a workflow has.
func (f *flows) entries(id string) int {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), f.names.JournalStream(0))
	require.NoError(f, err)
	subject := f.names.Journal(0, schedule.Key{Namespace: "default", ID: id})
	info, err := stream.Info(f.Context(), jetstream.WithSubjectFilter(subject))
	require.NoError(f, err)
	return int(info.State.Subjects[subject])
}

// requireOneOfTwo: two processes of history get requests about one workflow, from somebody who does not know its owner. Each finds what the other
// has appended.
func (f *flows) requireOneOfTwo() {
	f.Helper()
	f.eventually("one process was slower than the other, and reads on", func(c collected) bool {
		f.signalAnybody("w")
		return c.value(metrics.HistoryConflicts.Instrument, "namespace", "default") >= 1 &&
			c.value(metrics.HistoryLoads.Instrument, "from", "tail") >= 1 && c.value(metrics.HistoryLoads.Instrument, "from", "journal") >= 1
	})
}

// requireLost: a task comes for a poll that has ended.
func (f *flows) requireLost() {
	f.Helper()
	offers, err := offer.NewOfferer(offer.Config{Conn: bus.Plain{Conn: f.conn}, Names: f.names, Logger: natstest.Logger(f)}, nil, metrics.OfferedNew)
	require.NoError(f, err)
	defer offers.Close()
	ctx, end := context.WithCancel(f.Context())
	polling := make(chan error, 1)
	go func() {
		_, err := f.api.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{Namespace: "default", TaskQueue: queueOf("gone")})
		polling <- err
	}()
	queue := offer.Queue{Namespace: "default", Kind: offer.Activity, Name: "gone"}
	var poller offer.Poller
	f.eventually("the poll is reserved", func(collected) bool {
		poller, err = offers.Offer(f.Context(), queue, 0)
		return err == nil
	})
	end()
	require.Error(f, <-polling)
	f.eventually("the poll is over", func(c collected) bool {
		return c.value(metrics.Polls.Instrument, "kind", "activity", "outcome", "empty") == 1
	})
	require.NoError(f, offers.Hand(f.Context(), poller, []byte("task")))
	f.eventually("the task is lost", func(c collected) bool { return c.value(metrics.TasksLost.Instrument) == 1 })
}

// requireRecovered: the process that has appended an entry is not known, so another one does its work.
func (f *flows) requireRecovered() {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), f.names.JournalStream(0))
	require.NoError(f, err)
	first, err := stream.GetMsg(f.Context(), 1, jetstream.WithGetMsgSubject(f.names.Journal(0, schedule.Key{Namespace: "default", ID: "w"})))
	require.NoError(f, err)
	_, err = f.js.Publish(f.Context(), f.names.Journal(0, schedule.Key{Namespace: "default", ID: "orphan"}), first.Data)
	require.NoError(f, err)
	f.eventually("its work is done", func(c collected) bool { return c.value(metrics.HistoryRecovered.Instrument) == 1 })
	task := f.workflowTask("flows")
	require.Equal(f, "orphan", task.WorkflowExecution.WorkflowId)
	f.respond(task, &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
		},
	})
}
