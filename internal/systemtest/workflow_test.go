package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

const workflowQueue = "greetings"

// service is an installation with everything that Temporal's clients need, in this process, and a client of Temporal's SDK.
type service struct {
	sdkclient.Client

	t       testing.TB
	names   subjects.Names
	urls    string
	address string
	// apiKey is what the client shows the gateway; empty for nothing.
	apiKey string
	// options are those of the next process, except for the logger; searches says that it has a search index.
	options  roles.Options
	searches bool
}

// newService runs the roles on a NATS server until the end of the test.
func newService(t testing.TB, urls string, replicas int) *service {
	t.Helper()
	s := &service{t: t, names: natstest.Names(t), urls: urls}
	s.address = s.run(replicas)
	s.Client = s.dial()
	return s
}

// run runs the roles in one process, and returns the address of the gateway.
func (s *service) run(replicas int) (address string) {
	log := natstest.Logger(s.t)
	s.options.Logger = log
	conn, err := roles.Connect(s.t.Context(), log, "test", func(options ...nats.Option) (*nats.Conn, error) { return nats.Connect(s.urls, options...) })
	require.NoError(s.t, err)
	cluster, err := roles.Open(s.t.Context(), conn, s.names, topology.Settings{Shards: 2, Replicas: replicas}, s.options)
	require.NoError(s.t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	front, ready, err := cluster.Frontend(roles.SearchOptions{Off: !s.searches})
	require.NoError(s.t, err)
	gateway, _, err := cluster.Gateway(roles.GatewayConfig{GRPC: listener, Anonymous: true, Drain: time.Second})
	require.NoError(s.t, err)
	history, err := cluster.History()
	require.NoError(s.t, err)
	matching, err := cluster.Matching()
	require.NoError(s.t, err)
	archival, err := cluster.Archival(roles.ArchivalConfig{Allowed: []string{"file:///"}})
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- roles.Supervise(ctx, log, 10*time.Second, roles.Stage{gateway}, roles.Stage{archival}, roles.Stage{history, matching}, roles.Stage{front}, roles.Stage{conn.Role()})
	}()
	s.t.Cleanup(func() {
		cancel()
		require.NoError(s.t, <-done)
		conn.Close()
	})
	<-ready
	return listener.Addr().String()
}

func (s *service) dial() sdkclient.Client {
	options := sdkclient.Options{HostPort: s.address, Logger: sdklog.NewStructuredLogger(natstest.Logger(s.t))}
	if s.apiKey != "" {
		options.Credentials = sdkclient.NewAPIKeyStaticCredentials(s.apiKey)
		options.ConnectionOptions.TLSDisabled = true
	}
	c, err := sdkclient.Dial(options)
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

// work runs a worker with the workflows of these tests until the end of the test.
func (s *service) work(options sdkworker.Options) sdkworker.Worker {
	w := sdkworker.New(s.Client, workflowQueue, options)
	registerWorkflows(w)
	require.NoError(s.t, w.Start())
	s.t.Cleanup(w.Stop)
	return w
}

// workflowsOnly lets a replayer pass for a worker: it needs no activities.
type workflowsOnly struct{ sdkworker.WorkflowReplayer }

func (workflowsOnly) RegisterActivity(any) {}

// registry is the part of a worker that takes workflows and activities.
type registry interface {
	RegisterWorkflow(of any)
	RegisterActivity(of any)
}

func registerWorkflows(r registry) {
	r.RegisterWorkflow(hello)
	r.RegisterWorkflow(order)
	r.RegisterWorkflow(sleeper)
	r.RegisterWorkflow(parallel)
	r.RegisterActivity(greet)
	r.RegisterActivity(pack)
	r.RegisterActivity(fail)
	r.RegisterActivity(beatUntilCanceled)
	registerFamily(r)
	registerUpdates(r)
	registerResets(r)
	registerOperations(r)
}

// events returns the history of a run.
func (s *service) events(run sdkclient.WorkflowRun) (events []*historypb.HistoryEvent) {
	s.t.Helper()
	for all := s.GetWorkflowHistory(s.t.Context(), run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
		event, err := all.Next()
		require.NoError(s.t, err)
		require.EqualValues(s.t, len(events)+1, event.GetEventId())
		events = append(events, event)
	}
	return events
}

// replay checks by the SDK's replayer that the history of a run is what the workflow's code does.
func (s *service) replay(run sdkclient.WorkflowRun) []*historypb.HistoryEvent {
	s.t.Helper()
	events := s.events(run)
	replayer := sdkworker.NewWorkflowReplayer()
	registerWorkflows(workflowsOnly{replayer})
	require.NoError(s.t, replayer.ReplayWorkflowHistoryWithOptions(sdklog.NewStructuredLogger(natstest.Logger(s.t)), &historypb.History{Events: events},
		sdkworker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: run.GetID(), RunID: run.GetRunID()}}))
	return events
}

func (s *service) start(id string, of any, args ...any) sdkclient.WorkflowRun {
	s.t.Helper()
	run, err := s.ExecuteWorkflow(s.t.Context(), sdkclient.StartWorkflowOptions{ID: id, TaskQueue: workflowQueue}, of, args...)
	require.NoError(s.t, err)
	return run
}

func hello(ctx workflow.Context, name string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var greeting string
	err := workflow.ExecuteActivity(ctx, greet, name).Get(ctx, &greeting)
	return greeting, err
}

func greet(_ context.Context, name string) (string, error) { return "Hello, " + name + "!", nil }

// order packs items, and then waits for a signal or gives up.
func order(ctx workflow.Context, items int, patience time.Duration) (string, error) {
	state := "packing"
	if err := workflow.SetQueryHandler(ctx, "state", func() (string, error) { return state, nil }); err != nil {
		return "", err
	}
	packing := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, HeartbeatTimeout: 5 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 3},
	})
	var packed int
	if err := workflow.ExecuteActivity(packing, pack, items).Get(ctx, &packed); err != nil {
		return "", err
	}
	state = "waiting"
	paid := false
	timer, cancel := workflow.WithCancel(ctx)
	workflow.NewSelector(ctx).AddReceive(workflow.GetSignalChannel(ctx, "paid"), func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		paid = true
		cancel()
	}).AddFuture(workflow.NewTimer(timer, patience), func(workflow.Future) {}).Select(ctx)
	if !paid {
		return "", temporal.NewApplicationError("nobody paid", "NotPaid")
	}
	return fmt.Sprintf("%d sent", packed), nil
}

// pack fails once, in the middle, and goes on there by the details of its heartbeat.
func pack(ctx context.Context, items int) (int, error) {
	packed := 0
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &packed); err != nil {
			return 0, err
		}
		if packed < items/2 {
			return 0, temporal.NewNonRetryableApplicationError("the heartbeat is lost", "Lost", nil)
		}
	} else if activity.GetInfo(ctx).Attempt > 1 {
		return 0, temporal.NewNonRetryableApplicationError("the heartbeat is lost", "Lost", nil)
	}
	for packed < items {
		if packed == items/2 && activity.GetInfo(ctx).Attempt == 1 {
			return packed, errors.New("jammed")
		}
		packed++
		activity.RecordHeartbeat(ctx, packed)
	}
	return packed, nil
}

// sleeper sleeps, and cleans up by an activity if it is canceled.
func sleeper(ctx workflow.Context, pause time.Duration) (string, error) {
	if err := workflow.Sleep(ctx, pause); err != nil {
		cleanup, _ := workflow.NewDisconnectedContext(ctx)
		cleanup = workflow.WithActivityOptions(cleanup, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
		if other := workflow.ExecuteActivity(cleanup, greet, "cleanup").Get(cleanup, nil); other != nil {
			return "", other
		}
		return "", err
	}
	return "slept", nil
}

// parallel runs many activities at once, one of which fails for good.
func parallel(ctx workflow.Context, n int) (int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 2},
	})
	futures := []workflow.Future{workflow.ExecuteActivity(ctx, fail)}
	for i := range n {
		futures = append(futures, workflow.ExecuteActivity(ctx, greet, fmt.Sprint(i)))
	}
	failed := 0
	for _, future := range futures {
		if future.Get(ctx, nil) != nil {
			failed++
		}
	}
	return failed, nil
}

func fail(context.Context) error { return errors.New("always") }

func beatUntilCanceled(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
			activity.RecordHeartbeat(ctx)
		}
	}
}

// TestTemporalWorker: programs written with Temporal's SDK run on Carillon, and every history is one that their code makes.
func TestTemporalWorker(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{})
	t.Run("hello", func(t *testing.T) {
		run := s.start("hello", hello, "world")
		var greeting string
		require.NoError(t, run.Get(t.Context(), &greeting))
		require.Equal(t, "Hello, world!", greeting)
		events := s.replay(run)
		require.Len(t, events, 11)
	})
	t.Run("schedule", func(t *testing.T) { // the frontend is in the same process
		handle, err := s.ScheduleClient().Create(t.Context(), sdkclient.ScheduleOptions{
			ID: "s", Action: &sdkclient.ScheduleWorkflowAction{ID: "scheduled", Workflow: hello, TaskQueue: workflowQueue, Args: []any{"world"}},
		})
		require.NoError(t, err)
		d, err := handle.Describe(t.Context())
		require.NoError(t, err)
		require.Equal(t, "hello", d.Schedule.Action.(*sdkclient.ScheduleWorkflowAction).Workflow)
		require.NoError(t, handle.Delete(t.Context()))
	})
	t.Run("order", func(t *testing.T) {
		run := s.start("order", order, 6, time.Hour)
		s.awaitPayment(run)
		require.NoError(t, s.SignalWorkflow(t.Context(), run.GetID(), "", "paid", nil))
		var result string
		require.NoError(t, run.Get(t.Context(), &result))
		require.Equal(t, "6 sent", result)
		s.replay(run)
		value, err := s.QueryWorkflow(t.Context(), run.GetID(), run.GetRunID(), "state")
		require.NoError(t, err)
		var state string
		require.NoError(t, value.Get(&state))
		require.Equal(t, "waiting", state)
	})
	t.Run("timer", func(t *testing.T) {
		run := s.start("timer", sleeper, 300*time.Millisecond)
		var result string
		require.NoError(t, run.Get(t.Context(), &result))
		require.Equal(t, "slept", result)
		s.replay(run)
	})
	t.Run("not paid", func(t *testing.T) {
		run := s.start("not-paid", order, 2, 100*time.Millisecond)
		var failed *temporal.ApplicationError
		require.ErrorAs(t, run.Get(t.Context(), nil), &failed)
		require.Equal(t, "NotPaid", failed.Type())
		s.replay(run)
	})
	t.Run("cancel", func(t *testing.T) {
		run := s.start("cancel", sleeper, time.Hour)
		require.NoError(t, s.CancelWorkflow(t.Context(), run.GetID(), ""))
		var canceled *temporal.CanceledError
		require.ErrorAs(t, run.Get(t.Context(), nil), &canceled)
		s.replay(run)
	})
	t.Run("terminate", func(t *testing.T) {
		run := s.start("terminate", sleeper, time.Hour)
		require.NoError(t, s.TerminateWorkflow(t.Context(), run.GetID(), "", "enough"))
		var terminated *temporal.TerminatedError
		require.ErrorAs(t, run.Get(t.Context(), nil), &terminated)
		described, err := s.DescribeWorkflow(t.Context(), run.GetID(), run.GetRunID())
		require.NoError(t, err)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, described.Status)
	})
	t.Run("parallel", func(t *testing.T) {
		run := s.start("parallel", parallel, 50)
		var failed int
		require.NoError(t, run.Get(t.Context(), &failed))
		require.Equal(t, 1, failed)
		s.replay(run)
	})
	t.Run("twice", func(t *testing.T) {
		s.start("twice", sleeper, time.Hour)
		_, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{
			ID: "twice", TaskQueue: workflowQueue, WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, sleeper, time.Hour)
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		require.ErrorAs(t, err, &started)
		require.NoError(t, s.TerminateWorkflow(t.Context(), "twice", "", ""))
	})
	t.Run("nobody works", func(t *testing.T) {
		run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{ID: "later", TaskQueue: "later"}, hello, "late")
		require.NoError(t, err)
		w := sdkworker.New(s.Client, "later", sdkworker.Options{})
		registerWorkflows(w)
		require.NoError(t, w.Start())
		defer w.Stop()
		require.NoError(t, run.Get(t.Context(), nil))
	})
	t.Run("unknown", func(t *testing.T) {
		err := s.SignalWorkflow(t.Context(), "nobody", "", "go", nil)
		var missing *serviceerror.NotFound
		require.ErrorAs(t, err, &missing)
		require.True(t, strings.Contains(err.Error(), "nobody"))
	})
}

// TestTaskQueueRate: the limit that workers set for the activities of their queue holds, also for those that had to wait in the backlog.
func TestTaskQueueRate(t *testing.T) {
	t.Parallel()
	const perSecond, activities = 20, 40
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{TaskQueueActivitiesPerSecond: perSecond})
	began := time.Now()
	var failed int
	require.NoError(t, s.start("many", parallel, activities).Get(t.Context(), &failed))
	require.Equal(t, 1, failed)
	const burst = perSecond / 5
	require.GreaterOrEqual(t, time.Since(began), (activities-burst)*time.Second/perSecond)
}
