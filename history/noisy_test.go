package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// users is how many want the turn of a workflow ID or have it.
func (s *Service) users(b *bundle, id string) int {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	if of := s.slots.all[b.key(id)]; of != nil {
		return of.users
	}
	return 0
}

// awaitUsers waits until so many want the turn of a workflow ID.
func (s *Service) awaitUsers(b *bundle, id string, n int) {
	b.Helper()
	natstest.Eventually(b, natstest.Patience, "all want the turn of "+id, func() bool { return s.users(b, id) >= n })
}

// occupy takes the turn of a workflow ID until the function is called that it returns.
func (s *Service) occupy(b *bundle, id string) (leave func()) {
	b.Helper()
	has, over := make(chan struct{}), make(chan struct{})
	b.background(func(ctx context.Context) error {
		return s.with(ctx, b.key(id), func(*slot) error {
			close(has)
			select {
			case <-over:
			case <-ctx.Done():
			}
			return nil
		})
	})
	<-has
	return func() { close(over) }
}

// TestNoisySignals: more signals of one execution than the process works on wait for the turn of the execution. Others run from their start to their
// end all the same, and then the signals are there.
func TestNoisySignals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, _ := b.run()
	b.start("noisy")
	b.complete(b.pollWorkflow())
	leave := s.occupy(b, "noisy")
	const many = concurrency + 100
	results := make(chan error, many)
	for i := range many {
		go func() {
			results <- untilTurn(func() error {
				return b.answer(b.Context(), subjects.VerbSignal, "noisy", &workflowservice.SignalWorkflowExecutionRequest{
					Namespace: space, WorkflowExecution: b.execution("noisy", ""), SignalName: "s", RequestId: fmt.Sprint(i),
				})
			})
		}()
	}
	s.awaitUsers(b, "noisy", many+1)
	b.completeOneActivity("w", b.start("w"))
	leave()
	for range many {
		require.NoError(t, <-results)
	}
	got := types(t, b.events("noisy", "", 0))
	got = slices.DeleteFunc(got, func(one enumspb.EventType) bool { return one != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED })
	require.Len(t, got, many)
}

// TestNoisyQueries: more queries of one execution than the process works on wait for a worker that does not come. Others run all the same.
func TestNoisyQueries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, _ := b.run()
	request := startRequest("noisy")
	request.TaskQueue.Name = "gone"
	require.NoError(t, b.answer(t.Context(), subjects.VerbStart, "noisy", request))
	b.complete(b.pollOn("gone"))
	const many = concurrency + 100
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, many)
	for range many {
		go func() {
			answered <- b.answer(ctx, subjects.VerbQuery, "noisy", &workflowservice.QueryWorkflowRequest{
				Namespace: space, Execution: b.execution("noisy", ""), Query: &querypb.WorkflowQuery{QueryType: "q"},
			})
		}()
	}
	s.awaitUsers(b, "noisy", many)
	b.completeOneActivity("w", b.start("w"))
	require.Empty(t, answered, "all queries wait")
	cancel()
	for range many {
		require.Error(t, <-answered)
	}
}

// TestNoisyEffects: the work of more entries than may offer tasks at once waits for the turn of one execution, as when children end together. The tasks
// of others are offered all the same.
func TestNoisyEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, _ := b.run()
	b.start("noisy")
	b.complete(b.pollWorkflow())
	leave := s.occupy(b, "noisy")
	const many = offersAtOnce + 100
	var ended atomic.Int64
	for range many {
		s.inBackground(func(ctx context.Context) error {
			return untilTurn(func() error {
				return s.inform(ctx, b.key("noisy"), execution.Signal{Request: &workflowservice.SignalWorkflowExecutionRequest{SignalName: "s"}})
			})
		}, func(error) { ended.Add(1) })
	}
	s.awaitUsers(b, "noisy", many+1)
	b.completeOneActivity("w", b.start("w"))
	leave()
	natstest.Eventually(t, natstest.Patience, "the work is over", func() bool { return ended.Load() == many })
}

// slowReads is a bus that reads nothing of one subject for a while.
type slowReads struct {
	bus.Streams
	subject string
	once    sync.Once
	reading chan struct{} // is closed when the subject is to be read
	goOn    chan struct{}
}

func (r *slowReads) Subject(ctx context.Context, stream, subject string, from uint64, limit int) ([]bus.Message, error) {
	if subject == r.subject {
		r.once.Do(func() { close(r.reading) })
		select {
		case <-r.goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return r.Streams.Subject(ctx, stream, subject, from, limit)
}

// TestNoisyRebuild: while the state of an execution is read from its journal, the others of its shard run.
func TestNoisyRebuild(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	b.start("noisy")
	b.signal("noisy", "")
	stop()
	key := b.key("noisy")
	slow := &slowReads{
		Streams: natstest.Bus(t, b.js), subject: b.names.Journal(subjects.ShardOf(key, b.facts.Shards), key),
		reading: make(chan struct{}), goOn: make(chan struct{}),
	}
	b.run(func(c *Config) { c.Bus, c.Conn = slow, bus.Plain{Conn: c.JS.Conn()} })
	described := make(chan error, 1)
	go func() {
		described <- b.answer(b.Context(), subjects.VerbDescribe, "noisy",
			&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution("noisy", "")})
	}()
	<-slow.reading
	other := b.neighbor("noisy")
	request := startRequest(other)
	request.TaskQueue.Name = "other"
	require.NoError(t, b.answer(t.Context(), subjects.VerbStart, other, request))
	b.complete(b.pollOn("other"), end())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, b.describe(other, "").WorkflowExecutionInfo.Status)
	require.Empty(t, described)
	close(slow.goOn)
	require.NoError(t, <-described)
}

// neighbor returns another workflow ID of the same shard.
func (b *bundle) neighbor(id string) (other string) {
	for other = id + "'"; subjects.ShardOf(b.key(other), b.facts.Shards) != subjects.ShardOf(b.key(id), b.facts.Shards); other += "'" {
	}
	return other
}

// TestShareOfOneExecution: one execution has no more than its share of the room in a process, whether with requests for its turn or with queries. The
// others have the rest.
func TestShareOfOneExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, _ := b.run()
	b.start("noisy")
	task := b.pollWorkflow()
	b.complete(task)
	for range maxUsers {
		require.NotNil(t, s.slots.use(b.key("noisy"), 0))
	}
	_, err := ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, "noisy", &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "noisy"}, SignalName: "s",
	})
	requireBusy(t, err)
	_, err = ask[workflowservice.QueryWorkflowResponse](b, subjects.VerbQuery, "noisy", &workflowservice.QueryWorkflowRequest{
		Namespace: space, Execution: b.execution("noisy", ""), Query: &querypb.WorkflowQuery{QueryType: "q"},
	})
	requireBusy(t, err)
	b.completeOneActivity("w", b.start("w"))
	of := s.slots.all[b.key("noisy")]
	for range maxUsers {
		s.slots.release(of, unchanged)
	}
	b.signal("noisy", "")
}

// untilTurn does something again as long as it waits too long for the turn of an execution.
func untilTurn(do func() error) (err error) {
	for err = do(); isBusy(err); err = do() {
	}
	return err
}

func isBusy(err error) bool {
	exhausted, ok := errors.AsType[*serviceerror.ResourceExhausted](err)
	return ok && exhausted.Cause == enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW
}

func requireBusy(t *testing.T, err error) {
	t.Helper()
	require.True(t, isBusy(err), "%v", err)
}
