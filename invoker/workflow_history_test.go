package invoker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// workflowAction makes the action a workflow with two arguments.
func workflowAction(d *wire.Definition) {
	d.Schedule.Action.Kind, d.Schedule.Action.Input = schedule.ActionWorkflow, json.RawMessage(`["a",{"b":2}]`)
}

// execution is one execution that history has.
type execution struct {
	request  *workflowservice.StartWorkflowExecutionRequest
	runID    string
	callback []byte
	status   enumspb.WorkflowExecutionStatus
	// retried says that another run goes on after this one.
	retried bool
}

// playedHistory is the pool history as far as the invoker sees it: who may start, who is in progress, and the words on the wire.
type playedHistory struct {
	*installation
	client *workflows.Client

	mu sync.Mutex
	// executions are all that began, in order. asked are the verbs and workflow IDs of all requests.
	executions []*execution
	asked      []string
	// answers replace the answers to the next requests of a verb, once each. The request is carried out if the answer is DeadlineExceeded.
	answers map[string][]error
	// before is called before a start.
	before func()
}

// withHistory makes an installation whose test plays history too.
func withHistory(t *testing.T, changes ...func(*wire.Definition)) *playedHistory {
	t.Helper()
	h := &playedHistory{installation: newInstallation(t, append([]func(*wire.Definition){workflowAction}, changes...)...), answers: map[string][]error{}}
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	h.client = workflows.NewClient(owners.Anybody(conn), h.names, 1)
	server, err := call.Serve(t.Context(), call.Config{Conn: bus.Plain{Conn: conn}, Handle: h.serve, Logger: natstest.Logger(t)}, h.names.Execution(0, "default", "*"))
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return h
}

func (h *playedHistory) newPool(changes ...func(*invoker.Config)) *invoker.Pool {
	h.t.Helper()
	return h.installation.newPool(append([]func(*invoker.Config){func(c *invoker.Config) { c.Workflows = h.client }}, changes...)...)
}

// fail makes the next request of a verb fail.
func (h *playedHistory) fail(verb string, errs ...error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[verb] = append(h.answers[verb], errs...)
}

func (h *playedHistory) serve(_ context.Context, subject string, data []byte) (proto.Message, error) {
	verb := subject[strings.LastIndexByte(subject, '.')+1:]
	h.mu.Lock()
	before := h.before
	if verb == subjects.VerbStartScheduled {
		h.before = nil
	}
	h.mu.Unlock()
	if verb == subjects.VerbStartScheduled && before != nil {
		before()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var fails error
	if next := h.answers[verb]; len(next) > 0 {
		fails, h.answers[verb] = next[0], next[1:]
		var unknown *serviceerror.DeadlineExceeded
		if !errors.As(fails, &unknown) {
			h.asked = append(h.asked, verb)
			return nil, fails
		}
	}
	response, err := h.answer(verb, data)
	if fails != nil {
		return nil, fails
	}
	return response, err
}

func (h *playedHistory) answer(verb string, data []byte) (proto.Message, error) {
	switch verb {
	case subjects.VerbStartScheduled:
		return h.accept(data)
	case subjects.VerbDescribe:
		var r workflowservice.DescribeWorkflowExecutionRequest
		require.NoError(h.t, proto.Unmarshal(data, &r))
		return h.describe(&r)
	case subjects.VerbRequestCancel:
		var r workflowservice.RequestCancelWorkflowExecutionRequest
		require.NoError(h.t, proto.Unmarshal(data, &r))
		h.asked = append(h.asked, "cancel "+r.WorkflowExecution.WorkflowId)
		_, err := h.open(r.WorkflowExecution, r.FirstExecutionRunId)
		return &workflowservice.RequestCancelWorkflowExecutionResponse{}, err
	case subjects.VerbTerminate:
		var r workflowservice.TerminateWorkflowExecutionRequest
		require.NoError(h.t, proto.Unmarshal(data, &r))
		h.asked = append(h.asked, "terminate "+r.WorkflowExecution.WorkflowId)
		e, err := h.open(r.WorkflowExecution, r.FirstExecutionRunId)
		if err == nil {
			h.report(e, &historypb.HistoryEvent{
				EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
				Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
					WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{Reason: r.Reason},
				},
			})
		}
		return &workflowservice.TerminateWorkflowExecutionResponse{}, err
	}
	return nil, serviceerror.NewUnimplemented(verb)
}

func (h *playedHistory) accept(data []byte) (proto.Message, error) {
	var start wire.StartWorkflow
	var r workflowservice.StartWorkflowExecutionRequest
	require.NoError(h.t, codec.Unmarshal(data, &start))
	require.NoError(h.t, proto.Unmarshal(start.Request, &r))
	h.asked = append(h.asked, "start "+r.WorkflowId)
	if e := h.newest(r.WorkflowId); e != nil && e.request.RequestId != r.RequestId && e.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", e.request.RequestId, e.runID)
	} else if e == nil || e.request.RequestId != r.RequestId {
		h.executions = append(h.executions, &execution{&r, start.RunID, start.Callback, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false})
	}
	return &workflowservice.StartWorkflowExecutionResponse{RunId: start.RunID, Started: true}, nil
}

func (h *playedHistory) newest(workflowID string) (newest *execution) {
	for _, e := range h.executions {
		if e.request.WorkflowId == workflowID {
			newest = e
		}
	}
	return newest
}

func (h *playedHistory) open(of *commonpb.WorkflowExecution, first string) (*execution, error) {
	require.Empty(h.t, of.RunId)
	e := h.newest(of.WorkflowId)
	if e == nil || e.runID != first || e.status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, serviceerror.NewNotFound("not in progress")
	}
	return e, nil
}

func (h *playedHistory) describe(r *workflowservice.DescribeWorkflowExecutionRequest) (proto.Message, error) {
	h.asked = append(h.asked, "describe "+r.Execution.WorkflowId)
	for _, e := range h.executions {
		status := e.status
		switch newest := r.Execution.RunId == "" && e == h.newest(r.Execution.WorkflowId); {
		case newest && e.retried:
			status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		case !newest && e.runID != r.Execution.RunId:
			continue
		}
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
			Execution: r.Execution, Status: status, CloseTime: timestamppb.Now(), FirstRunId: e.runID,
		}}, nil
	}
	return nil, serviceerror.NewNotFound("no such run")
}

// report ends an execution and tells its schedule.
func (h *playedHistory) report(e *execution, event *historypb.HistoryEvent) {
	event.EventTime = timestamppb.Now()
	e.status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	message, err := workflows.Report(h.names, 1, "default", e.callback, e.runID, event)
	require.NoError(h.t, err)
	_, err = h.js.PublishMsg(context.Background(), message) // the test may be over for a late answer
	require.NoError(h.t, err)
}

// begun waits for the n-th execution.
func (h *playedHistory) begun(n int) *execution {
	h.t.Helper()
	var e *execution
	natstest.Eventually(h.t, patience, "an execution has begun", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.executions) < n {
			return false
		}
		e = h.executions[n-1]
		return true
	})
	return e
}

// end ends an execution in one of the ways there are.
func (h *playedHistory) end(e *execution, event *historypb.HistoryEvent) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report(e, event)
}

// requests are what history was asked so far.
func (h *playedHistory) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.asked...)
}

// count is how many executions have begun.
func (h *playedHistory) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.executions)
}

func completed(values ...string) *historypb.HistoryEvent {
	result := &commonpb.Payloads{}
	for _, value := range values {
		result.Payloads = append(result.Payloads, &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(value)})
	}
	return &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: result},
		},
	}
}

var canceledEvent = &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED}

// requestOf is the request for an execution, as the invoker makes it.
func requestOf(t *testing.T, key schedule.Key, d *wire.Definition, start *wire.BufferedStart) *workflowservice.StartWorkflowExecutionRequest {
	t.Helper()
	request, problem := workflows.Request(key, &d.Schedule.Action, start, wire.Result{})
	require.Nil(t, problem)
	return request
}

// ahead is the clock of a process that is ahead, so that no backoff lasts.
func ahead(by time.Duration) func(*invoker.Config) {
	return clock(func() time.Time { return time.Now().Add(by) })
}
