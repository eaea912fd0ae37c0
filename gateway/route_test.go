package gateway_test

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	methods = "/temporal.api.workflowservice.v1.WorkflowService/"
	w       = "a workflow: > * ä"
)

// tokenOf is the token of a task of the workflow w.
func tokenOf(namespace string) []byte {
	return execution.Token{Namespace: namespace, WorkflowID: w, RunID: uuid.NewString(), Scheduled: 5, Attempt: 1}.Marshal()
}

// queryToken is the token of a task that only answers a query.
func queryToken(namespace, id string) []byte {
	return execution.QueryToken{Namespace: namespace, QueryID: id}.Marshal()
}

func payloads(bytes int) *common.Payloads {
	return &common.Payloads{Payloads: []*common.Payload{{Data: make([]byte, bytes)}}}
}

// routed are the methods whose requests go to the owner of the execution, with the verb, a good request and an answer.
func routed() map[string]struct {
	verb              string
	request, response proto.Message
} {
	run := &common.WorkflowExecution{WorkflowId: w, RunId: uuid.NewString()}
	token, kind, queue := tokenOf("default"), &common.WorkflowType{Name: "t"}, &taskqueue.TaskQueue{Name: "q"}
	return map[string]struct {
		verb              string
		request, response proto.Message
	}{
		"StartWorkflowExecution": {
			"start",
			&workflowservice.StartWorkflowExecutionRequest{Namespace: "default", WorkflowId: w, WorkflowType: kind, TaskQueue: queue, RequestId: "r"},
			&workflowservice.StartWorkflowExecutionResponse{RunId: "run", Started: true},
		},
		"SignalWithStartWorkflowExecution": {
			"signal-with-start",
			&workflowservice.SignalWithStartWorkflowExecutionRequest{
				Namespace: "default", WorkflowId: w, WorkflowType: kind, TaskQueue: queue, RequestId: "r", SignalName: "s",
			},
			&workflowservice.SignalWithStartWorkflowExecutionResponse{RunId: "run"},
		},
		"SignalWorkflowExecution": {
			"signal",
			&workflowservice.SignalWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: run, SignalName: "s", Input: payloads(10)},
			&workflowservice.SignalWorkflowExecutionResponse{},
		},
		"RequestCancelWorkflowExecution": {
			"request-cancel", &workflowservice.RequestCancelWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: run},
			&workflowservice.RequestCancelWorkflowExecutionResponse{},
		},
		"TerminateWorkflowExecution": {
			"terminate", &workflowservice.TerminateWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: run},
			&workflowservice.TerminateWorkflowExecutionResponse{},
		},
		"DescribeWorkflowExecution": {
			"describe", &workflowservice.DescribeWorkflowExecutionRequest{Namespace: "default", Execution: run},
			&workflowservice.DescribeWorkflowExecutionResponse{},
		},
		"GetWorkflowExecutionHistory": {
			"history", &workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: "default", Execution: run},
			&workflowservice.GetWorkflowExecutionHistoryResponse{NextPageToken: []byte("next")},
		},
		"GetWorkflowExecutionHistoryReverse": {
			"history-reverse", &workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: "default", Execution: run},
			&workflowservice.GetWorkflowExecutionHistoryReverseResponse{NextPageToken: []byte("next")},
		},
		"QueryWorkflow": {
			"query", &workflowservice.QueryWorkflowRequest{Namespace: "default", Execution: run, Query: &query.WorkflowQuery{QueryType: "x"}},
			&workflowservice.QueryWorkflowResponse{QueryResult: payloads(3)},
		},
		"ResetStickyTaskQueue": {
			"reset-sticky", &workflowservice.ResetStickyTaskQueueRequest{Namespace: "default", Execution: run},
			&workflowservice.ResetStickyTaskQueueResponse{},
		},
		"RespondWorkflowTaskCompleted": {
			"complete-workflow-task", &workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: "default", TaskToken: token},
			&workflowservice.RespondWorkflowTaskCompletedResponse{ResetHistoryEventId: 7},
		},
		"RespondWorkflowTaskFailed": {
			"fail-workflow-task", &workflowservice.RespondWorkflowTaskFailedRequest{Namespace: "default", TaskToken: token},
			&workflowservice.RespondWorkflowTaskFailedResponse{},
		},
		"RespondActivityTaskCompleted": {
			"complete-activity", &workflowservice.RespondActivityTaskCompletedRequest{Namespace: "default", TaskToken: token, Result: payloads(5)},
			&workflowservice.RespondActivityTaskCompletedResponse{},
		},
		"RespondActivityTaskFailed": {
			"fail-activity", &workflowservice.RespondActivityTaskFailedRequest{Namespace: "default", TaskToken: token},
			&workflowservice.RespondActivityTaskFailedResponse{},
		},
		"RespondActivityTaskCanceled": {
			"cancel-activity", &workflowservice.RespondActivityTaskCanceledRequest{Namespace: "default", TaskToken: token},
			&workflowservice.RespondActivityTaskCanceledResponse{},
		},
		"RecordActivityTaskHeartbeat": {
			"heartbeat-activity", &workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: "default", TaskToken: token},
			&workflowservice.RecordActivityTaskHeartbeatResponse{CancelRequested: true},
		},
		"RespondActivityTaskCompletedById": {
			"complete-activity-by-id", &workflowservice.RespondActivityTaskCompletedByIdRequest{Namespace: "default", WorkflowId: w, ActivityId: "a"},
			&workflowservice.RespondActivityTaskCompletedByIdResponse{},
		},
		"RespondActivityTaskFailedById": {
			"fail-activity-by-id", &workflowservice.RespondActivityTaskFailedByIdRequest{Namespace: "default", WorkflowId: w, ActivityId: "a"},
			&workflowservice.RespondActivityTaskFailedByIdResponse{},
		},
		"RespondActivityTaskCanceledById": {
			"cancel-activity-by-id", &workflowservice.RespondActivityTaskCanceledByIdRequest{Namespace: "default", WorkflowId: w, ActivityId: "a"},
			&workflowservice.RespondActivityTaskCanceledByIdResponse{},
		},
		"RecordActivityTaskHeartbeatById": {
			"heartbeat-activity-by-id", &workflowservice.RecordActivityTaskHeartbeatByIdRequest{Namespace: "default", WorkflowId: w, ActivityId: "a"},
			&workflowservice.RecordActivityTaskHeartbeatByIdResponse{CancelRequested: true},
		},
		"PauseActivity":         {"pause-activity", pauseRequest(), &workflowservice.PauseActivityResponse{}},
		"UnpauseActivity":       {"unpause-activity", unpauseRequest(), &workflowservice.UnpauseActivityResponse{}},
		"ResetActivity":         {"reset-activity", resetActivityRequest(), &workflowservice.ResetActivityResponse{}},
		"UpdateActivityOptions": {"update-activity-options", optionsRequest(), &workflowservice.UpdateActivityOptionsResponse{ActivityOptions: someOptions()}},
	}
}

// TestRequestsReachTheOwner sends each request once for an answer and once for an error.
func TestRequestsReachTheOwner(t *testing.T) {
	t.Parallel()
	in := install(t)
	all := routed()
	verbs := map[string]proto.Message{}
	for _, one := range all {
		verbs[one.verb] = one.response
	}
	var refuse error
	requests := in.owners(func(r request) (proto.Message, error) { return verbs[r.verb], refuse })
	shard := strconv.Itoa(subjects.ShardOf(schedule.Key{Namespace: "default", ID: w}, shards))
	for _, refuse = range []error{nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", "request", "run")} {
		for method, one := range all {
			got := one.response.ProtoReflect().New().Interface()
			err := in.grpc.Invoke(t.Context(), methods+method, one.request, got)
			r := <-requests
			assert.Equal(t, one.verb, r.verb, method)
			assert.Equal(t, "default", r.namespace, method)
			assert.Equal(t, shard, r.shard, method)
			arrived := one.request.ProtoReflect().New().Interface()
			require.NoError(t, proto.Unmarshal(r.data, arrived), method)
			assert.True(t, proto.Equal(one.request, arrived), "%s: %v", method, arrived)
			if refuse == nil {
				require.NoError(t, err, method)
				assert.True(t, proto.Equal(one.response, got), "%s: %v", method, got)
				continue
			}
			assert.Equal(t, serviceerror.ToStatus(refuse).Proto().String(), serviceerror.ToStatus(err).Proto().String(), method)
		}
	}
}

// TestBadRequests never reach an owner.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, serviceerror.NewDataLoss("it has come through") })
	good := routed()
	long, large := strings.Repeat("x", 1001), payloads(2<<20+1)
	bad := func(run string) *common.WorkflowExecution {
		return &common.WorkflowExecution{WorkflowId: w, RunId: run}
	}
	start := func(change func(*workflowservice.StartWorkflowExecutionRequest)) proto.Message {
		r := proto.CloneOf(good["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest))
		change(r)
		return r
	}
	for name, test := range map[string]struct {
		method  string
		request proto.Message
		want    string
	}{
		"no namespace": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.Namespace = "" }),
			"Namespace not set on request."},
		"no workflow ID": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.WorkflowId = "" }),
			"WorkflowId is not set on request."},
		"long workflow ID": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.WorkflowId = long }),
			"WorkflowId length exceeds limit."},
		"no type": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.WorkflowType = nil }),
			"WorkflowType is not set on request."},
		"no queue": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.TaskQueue = nil }),
			"TaskQueue is not set on request."},
		"long request ID": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.RequestId = long }),
			"RequestId length exceeds limit."},
		"large input": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.Input = large }),
			"Blob data size exceeds limit."},
		"terminate and more": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) {
			r.WorkflowIdReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING
			r.WorkflowIdConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
		}), "WorkflowIdReusePolicy TerminateIfRunning and a WorkflowIdConflictPolicy exclude each other."},
		"signal a new one only": {"SignalWithStartWorkflowExecution", &workflowservice.SignalWithStartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: w, SignalName: "s", WorkflowType: &common.WorkflowType{Name: "t"},
			TaskQueue: &taskqueue.TaskQueue{Name: "q"}, WorkflowIdConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		}, "WorkflowIdConflictPolicy Fail is not possible with a signal."},
		"large memo": {"StartWorkflowExecution", start(func(r *workflowservice.StartWorkflowExecutionRequest) {
			r.Memo = &common.Memo{Fields: map[string]*common.Payload{"m": large.Payloads[0]}}
		}), "Memo size exceeds limit."},
		"no execution": {"DescribeWorkflowExecution", &workflowservice.DescribeWorkflowExecutionRequest{Namespace: "default"},
			"Execution is not set on request."},
		"no workflow": {"TerminateWorkflowExecution", &workflowservice.TerminateWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &common.WorkflowExecution{},
		}, "WorkflowId is not set on request."},
		"no run ID": {"GetWorkflowExecutionHistory", &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: "default", Execution: bad("x"), WaitNewEvent: true,
		}, "Invalid RunId."},
		"no execution to read": {"GetWorkflowExecutionHistoryReverse", &workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: "default"},
			"Execution is not set on request."},
		"no signal": {"SignalWorkflowExecution", &workflowservice.SignalWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: bad("")},
			"SignalName is not set on request."},
		"no query": {"QueryWorkflow", &workflowservice.QueryWorkflowRequest{Namespace: "default", Execution: bad("")},
			"QueryType is not set on request."},
		"no token": {"RespondWorkflowTaskCompleted", &workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: "default"},
			"Task token not set on request."},
		"odd token": {"RespondWorkflowTaskFailed", &workflowservice.RespondWorkflowTaskFailedRequest{
			Namespace: "default", TaskToken: []byte("\x00\xff"),
		}, "Error deserializing task token."},
		"token of another namespace": {"RespondActivityTaskCompleted", &workflowservice.RespondActivityTaskCompletedRequest{
			Namespace: "default", TaskToken: tokenOf("other"),
		}, "Operation requested with a token from a different namespace."},
		"no activity": {"RespondActivityTaskFailedById", &workflowservice.RespondActivityTaskFailedByIdRequest{Namespace: "default", WorkflowId: w},
			"ActivityId is not set on request."},
		"large details": {"RecordActivityTaskHeartbeatById", &workflowservice.RecordActivityTaskHeartbeatByIdRequest{
			Namespace: "default", WorkflowId: w, ActivityId: "a", Details: large,
		}, "Blob data size exceeds limit."},
		"query without an end": {"RespondQueryTaskCompleted", &workflowservice.RespondQueryTaskCompletedRequest{
			Namespace: "default", TaskToken: []byte("x"),
		}, "Error deserializing task token."},
		"poll of no queue": {"PollActivityTaskQueue", &workflowservice.PollActivityTaskQueueRequest{Namespace: "default"},
			"TaskQueue is not set on request."},
		"poll of a long queue": {"PollWorkflowTaskQueue", &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: long},
		}, "TaskQueue length exceeds limit."},
		"queue of no type": {"DescribeTaskQueue", &workflowservice.DescribeTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, TaskQueueType: 99,
		}, "Invalid TaskQueueType."},
	} {
		err := in.grpc.Invoke(t.Context(), methods+test.method, test.request, &workflowservice.GetSystemInfoResponse{})
		var invalid *serviceerror.InvalidArgument
		if assert.ErrorAs(t, err, &invalid, name) {
			assert.Equal(t, test.want, err.Error(), name)
		}
	}
	for method, one := range good {
		r := proto.Clone(one.request)
		r.ProtoReflect().Set(r.ProtoReflect().Descriptor().Fields().ByName("namespace"), protoreflect.ValueOfString("no.such>*"))
		var notFound *serviceerror.NamespaceNotFound
		assert.ErrorAs(t, in.grpc.Invoke(t.Context(), methods+method, r, one.response.ProtoReflect().New().Interface()), &notFound, method)
	}
	assert.Empty(t, requests)
}

// TestResultsTooLarge: a result that cannot be kept fails its activity, since another attempt would not help.
func TestResultsTooLarge(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	token, large := tokenOf("default"), payloads(2<<20+1)
	failed := func(err error) *workflowservice.RespondActivityTaskFailedRequest {
		t.Helper()
		require.NoError(t, err)
		r := <-requests
		require.Equal(t, "fail-activity", r.verb)
		var got workflowservice.RespondActivityTaskFailedRequest
		require.NoError(t, proto.Unmarshal(r.data, &got))
		assert.True(t, got.Failure.GetServerFailureInfo().GetNonRetryable())
		assert.Equal(t, token, got.TaskToken)
		return &got
	}
	_, err := in.RespondActivityTaskCompleted(t.Context(), &workflowservice.RespondActivityTaskCompletedRequest{
		Namespace: "default", TaskToken: token, Result: large, Identity: "me",
	})
	assert.Equal(t, "me", failed(err).Identity)
	_, err = in.RespondActivityTaskCanceled(t.Context(), &workflowservice.RespondActivityTaskCanceledRequest{
		Namespace: "default", TaskToken: token, Details: large,
	})
	failed(err)
	beat, err := in.RecordActivityTaskHeartbeat(t.Context(), &workflowservice.RecordActivityTaskHeartbeatRequest{
		Namespace: "default", TaskToken: token, Details: large,
	})
	failed(err)
	assert.True(t, beat.CancelRequested)
	_, err = in.RespondActivityTaskFailed(t.Context(), &workflowservice.RespondActivityTaskFailedRequest{
		Namespace: "default", TaskToken: token, Failure: &failure.Failure{Message: strings.Repeat("x", 2<<20)},
	})
	failed(err)
	_, err = in.RespondWorkflowTaskFailed(t.Context(), &workflowservice.RespondWorkflowTaskFailedRequest{
		Namespace: "default", TaskToken: token, Failure: &failure.Failure{Message: strings.Repeat("x", 2<<20)},
	})
	require.NoError(t, err)
	assert.Less(t, len((<-requests).data), 2000)
}

// TestLargerThanNATSAccepts: an outcome that does not fit into a message of the NATS server fails its task, which nobody would hear of otherwise.
func TestLargerThanNATSAccepts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte("max_payload: 512KB"), 0o600))
	in := installOn(t, natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = file }))
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	token, large := tokenOf("default"), payloads(600<<10)
	_, err := in.RespondActivityTaskCompleted(t.Context(), &workflowservice.RespondActivityTaskCompletedRequest{
		Namespace: "default", TaskToken: token, Result: large,
	})
	require.NoError(t, err)
	require.Equal(t, "fail-activity", (<-requests).verb)
	_, err = in.RespondWorkflowTaskCompleted(t.Context(), &workflowservice.RespondWorkflowTaskCompletedRequest{
		Namespace: "default", TaskToken: token, Commands: []*command.Command{{
			CommandType: enums.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
			Attributes: &command.Command_CompleteWorkflowExecutionCommandAttributes{
				CompleteWorkflowExecutionCommandAttributes: &command.CompleteWorkflowExecutionCommandAttributes{Result: large},
			},
		}},
	})
	require.ErrorAs(t, err, new(*serviceerror.InvalidArgument))
	failed := <-requests
	require.Equal(t, "fail-workflow-task", failed.verb)
	var got workflowservice.RespondWorkflowTaskFailedRequest
	require.NoError(t, proto.Unmarshal(failed.data, &got))
	require.Equal(t, enums.WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE, got.Cause)
}

// TestRequestsGetAnID: so a request that is sent again to the owner starts nothing twice.
func TestRequestsGetAnID(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	r := routed()["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest)
	r.RequestId = ""
	_, err := in.StartWorkflowExecution(t.Context(), r)
	require.NoError(t, err)
	var got workflowservice.StartWorkflowExecutionRequest
	require.NoError(t, proto.Unmarshal((<-requests).data, &got))
	assert.NoError(t, uuid.Validate(got.RequestId))
}

// TestAnswersToQueries go to whoever awaits them.
func TestAnswersToQueries(t *testing.T) {
	t.Parallel()
	in := install(t)
	awaited, err := in.conn.SubscribeSync(in.names.QueryAnswer("default", "q.1"))
	require.NoError(t, err)
	require.NoError(t, in.conn.Flush())
	r := &workflowservice.RespondQueryTaskCompletedRequest{
		Namespace: "default", TaskToken: queryToken("default", "q.1"), CompletedType: enums.QUERY_RESULT_TYPE_ANSWERED, QueryResult: payloads(3),
	}
	next := func() *workflowservice.RespondQueryTaskCompletedRequest {
		_, err := in.RespondQueryTaskCompleted(t.Context(), r)
		require.NoError(t, err)
		m, err := awaited.NextMsg(patience)
		require.NoError(t, err)
		var got workflowservice.RespondQueryTaskCompletedRequest
		require.NoError(t, proto.Unmarshal(m.Data, &got))
		return &got
	}
	assert.True(t, proto.Equal(r, next()))
	r.QueryResult = payloads(2<<20 + 1)
	got := next()
	assert.Equal(t, enums.QUERY_RESULT_TYPE_FAILED, got.CompletedType)
	assert.Equal(t, "Blob data size exceeds limit.", got.ErrorMessage)
	assert.Nil(t, got.QueryResult)

	var invalid *serviceerror.InvalidArgument
	for _, token := range [][]byte{nil, []byte("x"), queryToken("other", "q"), queryToken("default", ""), queryToken("default", strings.Repeat("x", 1001))} {
		r.TaskToken = token
		_, err := in.RespondQueryTaskCompleted(t.Context(), r)
		assert.ErrorAs(t, err, &invalid, string(token))
	}
	r.TaskToken, r.CompletedType = queryToken("default", "q"), 0
	_, err = in.RespondQueryTaskCompleted(t.Context(), r)
	assert.ErrorAs(t, err, &invalid)
}
