package history

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestRestart: another process goes on where the first one was, at any point.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	again := func() func() { _, stop := b.run(); return stop }
	stop := again()
	next := func() { stop(); stop = again() }
	runID := b.start("w")
	next()
	task := b.pollWorkflow()
	next()
	b.complete(task, activity("a"))
	next()
	work := b.pollActivity()
	next()
	b.completeActivity(work)
	next()
	task = b.pollWorkflow()
	require.Equal(t, oneActivity[:9], types(t, task.History.Events))
	next()
	b.complete(task, end())
	next()
	require.Equal(t, oneActivity, types(t, b.events("w", runID, 0)))
	b.settled()
}

// TestDeathAfterAnAppend: what an entry makes due is done by others, whether the process that appended it is gone or has given up.
func TestDeathAfterAnAppend(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		t.Run(fmt.Sprintf("gone=%t", gone), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, stop := b.run(func(c *Config) { c.noEffects = true })
			runID := b.start("w")
			if gone {
				stop()
			}
			_, stopSecond := b.run()
			task := b.pollWorkflow()
			if !gone {
				stop() // or it would get some of the requests
			}
			b.complete(task, activity("a"))
			b.completeActivity(b.pollActivity())
			b.complete(b.pollWorkflow(), end())
			require.Equal(t, oneActivity, types(t, b.events("w", runID, 0)))
			b.settled()
			stopSecond()
		})
	}
}

// TestTimerOutlivesItsProcess: the delayed message wakes another process, which knows nothing of the execution.
func TestTimerOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	b.start("w")
	b.complete(b.pollWorkflow(), timer("t", time.Second))
	b.settled()
	stop()
	b.run()
	task := b.pollWorkflow()
	require.Equal(t, enumspb.EVENT_TYPE_TIMER_FIRED, task.History.Events[5].EventType)
	b.complete(task, end())
}

// TestAMessageForAnExecutionThatHasEnded: a process that does not have it in memory does not read its journal for a delayed message.
func TestAMessageForAnExecutionThatHasEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	for _, id := range []string{"ended", "open"} {
		b.start(id)
		commands := []*commandpb.Command{end()}
		if id == "open" {
			commands = []*commandpb.Command{timer("t", time.Hour)}
		}
		b.complete(b.pollWorkflow(), commands...)
	}
	b.settled()
	stop()
	s, _ := b.run()
	for _, id := range []string{"ended", "open"} {
		require.NoError(t, s.come(t.Context(), b.key(id), time.Now()))
	}
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	require.Contains(t, s.slots.all, b.key("open"))
	require.NotContains(t, s.slots.all, b.key("ended"))
}

// TestHeartbeatsOutliveTheirProcess: an activity that sends heartbeats does not time out although the process that got them is gone, and does
// time out when they cease.
func TestHeartbeatsOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	b.start("w")
	b.complete(b.pollWorkflow(), activity("a", func(a *commandpb.ScheduleActivityTaskCommandAttributes) {
		a.HeartbeatTimeout = durationpb.New(time.Second)
	}))
	task := b.pollActivity()
	began := time.Now()
	beat := func() {
		_, err := ask[workflowservice.RecordActivityTaskHeartbeatResponse](b, subjects.VerbHeartbeatActivity, "w",
			&workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: space, TaskToken: task.TaskToken})
		require.NoError(t, err)
	}
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for i := range 8 {
		<-ticker.C
		beat()
		if i == 3 {
			b.run() // both get some of them
		}
		if i == 6 {
			stop()
		}
	}
	require.EqualValues(t, 1, b.describe("w", "").PendingActivities[0].Attempt)
	require.EqualValues(t, 2, b.pollActivity().Attempt)
	require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
}

// work runs a worker for workflows with one activity, until the end of the test. It counts how often each attempt of an activity comes.
func (b *bundle) work(pollers int) (attempts func() map[string]int) {
	b.Helper()
	var mu sync.Mutex
	seen := map[string]int{}
	for range pollers {
		b.background(func(ctx context.Context) error { return b.workOnWorkflows(ctx, func(string) {}) })
		b.background(func(ctx context.Context) error {
			return b.workOnActivities(ctx, func(task *workflowservice.PollActivityTaskQueueResponse) {
				mu.Lock()
				defer mu.Unlock()
				seen[fmt.Sprint(task.WorkflowExecution.WorkflowId, " ", task.ActivityId, " ", task.Attempt)]++
			})
		})
	}
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func (b *bundle) workOnWorkflows(ctx context.Context, ended func(id string)) error {
	return b.serve(ctx, queue, func(task *workflowservice.PollWorkflowTaskQueueResponse) ([]*commandpb.Command, func()) {
		if task.PreviousStartedEventId == 0 {
			return []*commandpb.Command{activity("a", b.hasten)}, func() {}
		}
		return []*commandpb.Command{end()}, func() { ended(task.WorkflowExecution.WorkflowId) }
	})
}

// serve completes the workflow tasks of a queue until ctx ends. If the answer to one fails, the task comes again; done is called if it does not.
func (b *bundle) serve(
	ctx context.Context, queue string, work func(*workflowservice.PollWorkflowTaskQueueResponse) (commands []*commandpb.Command, done func()),
) error {
	for ctx.Err() == nil {
		data, err := b.polls.Wait(ctx, offer.Queue{Namespace: space, Kind: offer.Workflow, Name: queue}, offer.Poller{Identity: "worker"})
		if err != nil || data == nil {
			continue
		}
		var task workflowservice.PollWorkflowTaskQueueResponse
		if err := proto.Unmarshal(data, &task); err != nil {
			return err
		}
		commands, done := work(&task)
		if b.answer(ctx, subjects.VerbCompleteWorkflowTask, task.WorkflowExecution.WorkflowId,
			&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: space, TaskToken: task.TaskToken, Commands: commands}) == nil {
			done()
		}
	}
	return nil
}

func (b *bundle) workOnActivities(ctx context.Context, note func(*workflowservice.PollActivityTaskQueueResponse)) error {
	for ctx.Err() == nil {
		data, err := b.polls.Wait(ctx, offer.Queue{Namespace: space, Kind: offer.Activity, Name: queue}, offer.Poller{Identity: "worker"})
		if err != nil || data == nil {
			continue
		}
		var task workflowservice.PollActivityTaskQueueResponse
		if err := proto.Unmarshal(data, &task); err != nil {
			return err
		}
		note(&task)
		_ = b.answer(ctx, subjects.VerbCompleteActivity, task.WorkflowExecution.WorkflowId,
			&workflowservice.RespondActivityTaskCompletedRequest{Namespace: space, TaskToken: task.TaskToken})
	}
	return nil
}

// hasten gives an activity the timeout of the bundle.
func (b *bundle) hasten(a *commandpb.ScheduleActivityTaskCommandAttributes) {
	if b.timeout > 0 {
		a.StartToCloseTimeout = durationpb.New(b.timeout)
	}
}

// answer is ask without an answer that matters.
func (b *bundle) answer(ctx context.Context, verb, id string, request proto.Message) error {
	subject := b.names.Execution(subjects.ShardOf(b.key(id), b.facts.Shards), space, verb)
	return call.Ask(ctx, b.conn, subject, request, nil)
}

// startMany starts executions while something happens, and waits until all have ended.
func (b *bundle) startMany(n int, meanwhile func()) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			group.Go(func() error {
				id := fmt.Sprint("w", i)
				request := startRequest(id)
				if b.timeout > 0 {
					request.WorkflowTaskTimeout = durationpb.New(b.timeout)
				}
				err := b.answer(b.Context(), subjects.VerbStart, id, request)
				for err != nil && b.Context().Err() == nil {
					err = b.answer(b.Context(), subjects.VerbStart, id, request) // the request ID makes a repeat harmless
				}
				return err
			})
		}
	}()
	meanwhile()
	<-done
	require.NoError(b, group.Wait())
	for i := range n {
		natstest.Eventually(b, natstest.Patience, "all executions have ended", func() bool {
			got, err := ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, fmt.Sprint("w", i),
				&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution(fmt.Sprint("w", i), "")})
			return err == nil && got.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
		})
	}
}

// TestTwoProcesses share the requests, and neither loses or doubles anything.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.run()
	attempts := b.work(4)
	b.startMany(40, func() {})
	for i := range 40 {
		require.Equal(t, oneActivity, types(t, b.events(fmt.Sprint("w", i), "", 0)))
	}
	require.Len(t, attempts(), 40)
	for attempt, times := range attempts() {
		require.Equal(t, 1, times, attempt)
	}
	b.settled()
}

// TestKilled: a process loses its connection in the middle of everything, as if it were killed. Another one does what is left.
func TestKilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.timeout = 3 * time.Second // what the process had started and not handed over comes again then
	b.run()
	attempts := b.work(4)
	b.startMany(40, func() {
		for range 3 {
			_, js := natstest.Connect(t, b.conn.ConnectedUrl())
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			s, err := New(b.config(js))
			require.NoError(t, err)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = s.Run(ctx)
			}()
			<-s.Ready()
			<-ctx.Done()
			js.Conn().Close()
			cancel()
			<-ended
		}
	})
	for i := range 40 {
		last := b.events(fmt.Sprint("w", i), "", 0)
		require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, last[len(last)-1].EventType)
		types(t, last)
	}
	require.GreaterOrEqual(t, len(attempts()), 40)
	b.settled()
}

// TestPurgedJournal: a process that has a workflow in memory finds that its journal has been purged, and a new one begins.
func TestPurgedJournal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	shard := subjects.ShardOf(b.key("w"), b.facts.Shards)
	stream, err := b.js.Stream(t.Context(), b.names.JournalStream(shard))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(b.names.Journal(shard, b.key("w")))))
	request := startRequest("w")
	request.RequestId = "another"
	_, err = ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "w", request)
	require.NoError(t, err)
	b.complete(b.pollWorkflow(), end())
}
