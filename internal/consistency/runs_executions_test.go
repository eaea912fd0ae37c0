package consistency_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// answering plays history: it answers what is stored for every execution that is asked for.
func (s *installation) answering() *atomic.Pointer[workflowpb.WorkflowExecutionInfo] {
	s.Helper()
	var info atomic.Pointer[workflowpb.WorkflowExecutionInfo]
	server, err := call.Serve(s.Context(), call.Config{
		Conn: bus.Plain{Conn: s.conn}, Logger: natstest.Logger(s),
		Handle: func(context.Context, string, []byte) (proto.Message, error) {
			if known := info.Load(); known != nil {
				return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: known}, nil
			}
			return nil, serviceerror.NewNotFound("no such run")
		},
	}, s.names.Execution(0, "*", subjects.VerbDescribe), s.names.Execution(1, "*", subjects.VerbDescribe))
	require.NoError(s, err)
	s.Cleanup(server.Close)
	return &info
}

// execution starts a schedule whose run counts as an execution of a workflow.
func (s *installation) execution(id string, change ...func(*schedule.CreateRequest)) wire.BufferedStart {
	s.Helper()
	key, start := started(s, id, change...)
	put(s, kv.Invoker(key), func(state *wire.InvokerState) { state.Starts[0].ActionKind = schedule.ActionWorkflow })
	s.unqueue(key, start)
	return start
}

// TestExecutionThatIsLost: history is asked, and not the workers.
func TestExecutionThatIsLost(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	info := s.answering()
	long, now := timestamppb.New(time.Now().Add(-time.Hour)), timestamppb.Now()
	for _, there := range []*workflowpb.WorkflowExecutionInfo{
		{Status: enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, CloseTime: long},
		{Status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, CloseTime: now},
		{Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING},
	} {
		info.Store(there)
		if there.CloseTime == long {
			s.execution("a", skipping)
		}
		require.Empty(t, s.finds(true), there)
	}
	start := s.execution("b", skipping)
	require.Empty(t, s.finds(true))
	info.Store(&workflowpb.WorkflowExecutionInfo{Status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, CloseTime: long})
	found := s.finds(false)
	require.Equal(t, []consistency.Kind{consistency.RunLost, consistency.RunLost}, kindsOf(found))
	require.Contains(t, found[0].What, "this workflow is not in progress")
	info.Store(nil)
	s.mends(consistency.RunLost, consistency.RunLost)
	s.failsAsLost("b", start)
}

// TestExecutionThatNobodyCanTellOf is left alone.
func TestExecutionThatNobodyCanTellOf(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.execution("a", skipping)
	require.Empty(t, s.finds(true))
}

// TestExecutionWhoseEndIsReported: the report waits for an invoker.
func TestExecutionWhoseEndIsReported(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.answering()
	key, start := started(s, "a", skipping)
	put(s, kv.Invoker(key), func(state *wire.InvokerState) { state.Starts[0].ActionKind = schedule.ActionWorkflow })
	s.unqueue(key, start)
	_, err := s.js.PublishMsg(t.Context(), s.completion(key, start))
	require.NoError(t, err)
	require.Empty(t, s.finds(true))
	s.completes("a", start)
}
