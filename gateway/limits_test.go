package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// limited is an installation whose time stands still, and whose namespace busy has limits.
type limited struct {
	*installation
	ask func(method, path, body string, header ...string) (int, map[string]any)
	now atomic.Int64
}

func newLimited(t *testing.T, limits schedule.NamespaceLimits) *limited {
	t.Helper()
	l := &limited{}
	l.installation, l.ask = installHTTP(t, func(c *gateway.Config) {
		c.Now = func() time.Time { return time.Unix(l.now.Load(), 0) }
	})
	l.owners(func(r request) (proto.Message, error) {
		if r.verb == subjects.VerbHistory { // nothing new, so the client waits
			return &workflowservice.GetWorkflowExecutionHistoryResponse{NextPageToken: []byte("next")}, nil
		}
		return nil, nil
	})
	api, err := client.New(l.conn, client.Config{Prefix: l.names.Prefix()})
	require.NoError(t, err)
	_, err = api.CreateNamespace(t.Context(), "busy", schedule.CreateNamespaceRequest{Limits: limits})
	require.NoError(t, err)
	return l
}

// describe is a request that counts among the requests of a namespace.
func (l *limited) describe(namespace string) error {
	_, err := l.DescribeWorkflowExecution(l.t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: "w"},
	})
	return err
}

func (l *limited) list(namespace string) error {
	_, err := l.ListSchedules(l.t.Context(), &workflowservice.ListSchedulesRequest{Namespace: namespace})
	return err
}

func (l *limited) poll(ctx context.Context, namespace string) error {
	_, err := l.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
	})
	return err
}

func requireExhausted(t *testing.T, err error, cause enums.ResourceExhaustedCause) {
	t.Helper()
	var exhausted *serviceerror.ResourceExhausted
	require.ErrorAs(t, err, &exhausted)
	assert.Equal(t, cause, exhausted.Cause)
	assert.Equal(t, enums.RESOURCE_EXHAUSTED_SCOPE_NAMESPACE, exhausted.Scope)
}

// TestLimitsOfRequests: each namespace has its own, lists have another, and requests about the namespace itself have none.
func TestLimitsOfRequests(t *testing.T) {
	t.Parallel()
	l := newLimited(t, schedule.NamespaceLimits{WorkflowRequestsPerSecond: 2, WorkflowListsPerSecond: 0.5})
	require.NoError(t, l.describe("busy"))
	require.NoError(t, l.describe("busy"))
	requireExhausted(t, l.describe("busy"), enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)
	require.NoError(t, l.list("busy"))
	requireExhausted(t, l.list("busy"), enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)
	code, answer := l.ask("GET", "/api/v1/namespaces/busy/schedules", "")
	assert.Equal(t, http.StatusTooManyRequests, code)
	assert.Equal(t, "namespace busy has had its 0.5 requests of this second (limits.workflowListsPerSecond)", answer["message"])
	requireExhausted(t, l.poll(t.Context(), "busy"), enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)
	for range 20 {
		require.NoError(t, l.describe("default"))
		_, err := l.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "busy"})
		require.NoError(t, err)
		_, err = l.operators.RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
			Namespace: "busy", SearchAttributes: []string{"Missing"},
		})
		assert.ErrorContains(t, err, "doesn't exist")
	}
	l.now.Add(1)
	require.NoError(t, l.describe("busy"))
	requireExhausted(t, l.list("busy"), enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)
	l.now.Add(1)
	require.NoError(t, l.list("busy"))
}

// TestLimitOfPolls: a poll that ends makes room for the next, and so does a client that waits no longer.
func TestLimitOfPolls(t *testing.T) {
	t.Parallel()
	l := newLimited(t, schedule.NamespaceLimits{MaxWorkflowPolls: 1})
	for _, wait := range []func(context.Context, string) error{l.poll, l.history} {
		for range 2 {
			stop := l.fill(wait)
			require.NoError(t, l.describe("busy"), "what does not wait goes on")
			stop()
		}
	}
}

// fill lets a request wait, so that there is no room for another of its kind, until stop is called.
func (l *limited) fill(wait func(context.Context, string) error) (stop func()) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	ended := make(chan error, 1)
	go func() { // the request below may have come first
		err := wait(ctx, "busy")
		for ctx.Err() == nil {
			err = wait(ctx, "busy")
		}
		ended <- err
	}()
	natstest.Eventually(l.t, patience, "the request waits", func() bool { return l.full(wait) })
	return func() {
		cancel()
		assert.Error(l.t, <-ended)
	}
}

// full reports whether a request that would wait is refused.
func (l *limited) full(wait func(context.Context, string) error) bool {
	brief, end := context.WithTimeout(l.t.Context(), 50*time.Millisecond)
	defer end()
	refused, ok := errors.AsType[*serviceerror.ResourceExhausted](wait(brief, "busy"))
	return ok && refused.Cause == enums.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT && refused.Scope == enums.RESOURCE_EXHAUSTED_SCOPE_NAMESPACE
}

// TestClientsThatWaitLeaveRoomForWorkers: however many clients wait for their results, the polls of the workers that would bring these are let in.
func TestClientsThatWaitLeaveRoomForWorkers(t *testing.T) {
	t.Parallel()
	l := newLimited(t, schedule.NamespaceLimits{MaxWorkflowPolls: 1})
	defer l.fill(l.history)()
	assert.False(t, l.full(l.poll), "clients have not taken the place of a worker")
	defer l.fill(l.poll)()
	assert.True(t, l.full(l.history))
}

// history waits for an event.
func (l *limited) history(ctx context.Context, namespace string) error {
	_, err := l.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: "w"}, WaitNewEvent: true,
	})
	return err
}

// TestLimitsChange: a new limit holds at once.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	l := newLimited(t, schedule.NamespaceLimits{WorkflowRequestsPerSecond: 1})
	require.NoError(t, l.describe("busy"))
	requireExhausted(t, l.describe("busy"), enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)
	api, err := client.New(l.conn, client.Config{Prefix: l.names.Prefix()})
	require.NoError(t, err)
	_, err = api.UpdateNamespace(t.Context(), "busy", schedule.UpdateNamespaceRequest{})
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the gateway knows", func() bool {
		l.now.Add(1)
		first, second := l.describe("busy"), l.describe("busy")
		return first == nil && second == nil
	})
}
