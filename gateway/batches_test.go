package gateway_test

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestBatchTerminatesByQuery: what a query finds is terminated, the progress shows, and nothing else is touched.
func TestBatchTerminatesByQuery(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	const many = 200
	in.beginMany(many)
	in.begin("other")
	const job = "any text: ä.b>*"
	in.start(terminating(job, "WorkflowType = 'report' AND WorkflowId != 'other'", 50))
	natstest.Eventually(t, patience, "some are done", func() bool { return in.describe(job).CompleteOperationCount > 0 })
	assert.EqualValues(t, many, in.describe(job).TotalOperationCount)
	d := in.await(job)
	assert.Equal(t, enums.BATCH_OPERATION_STATE_COMPLETED, d.State)
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_TERMINATE_WORKFLOW, d.OperationType)
	assert.EqualValues(t, [3]int64{many, many, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	assert.Equal(t, []string{"anna", "no use"}, []string{d.Identity, d.Reason})
	assert.NotNil(t, d.CloseTime)
	assert.Equal(t, many, in.count("ExecutionStatus = 'Terminated'"))
	assert.Equal(t, 1, in.count("ExecutionStatus = 'Running'"))
	ended := in.events("w0", enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	require.Len(t, ended, 1)
	assert.Equal(t, "no use", ended[0].GetWorkflowExecutionTerminatedEventAttributes().Reason)
}

// TestBatchSignalsNamed: executions that are named get a signal; one that does not exist needs none.
func TestBatchSignalsNamed(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	run := in.begin("a")
	in.begin("b/c")
	in.begin("other")
	r := signaling("named", 0)
	r.Executions = []*common.WorkflowExecution{{WorkflowId: "a", RunId: run}, {WorkflowId: "b/c"}, {WorkflowId: "b/c"}, {WorkflowId: "none"}}
	in.start(r)
	d := in.await("named")
	assert.EqualValues(t, [3]int64{3, 3, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	assert.Len(t, d.Executions, 4)
	for id, want := range map[string]int{"a": 1, "b/c": 1, "other": 0} {
		signals := in.events(id, enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
		require.Len(t, signals, want, id)
		if want > 0 {
			assert.Equal(t, "7", string(signals[0].GetWorkflowExecutionSignaledEventAttributes().Input.Payloads[0].Data))
		}
	}
	r = signaling("targets", 0)
	r.TargetExecutions = []*common.Execution{{Type: enums.EXECUTION_TYPE_WORKFLOW, BusinessId: "other"}}
	in.start(r)
	in.await("targets")
	assert.Len(t, in.events("other", enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED), 1)
}

// TestBatchCancels: each execution is asked once to end, for the reason of the operation.
func TestBatchCancels(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	in.beginMany(3)
	r := terminating("cancel", "WorkflowType = 'report'", 0)
	r.Operation = &workflowservice.StartBatchOperationRequest_CancellationOperation{CancellationOperation: &batch.BatchOperationCancellation{}}
	in.start(r)
	d := in.await("cancel")
	assert.EqualValues(t, 3, d.CompleteOperationCount)
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_CANCEL_WORKFLOW, d.OperationType)
	asked := in.events("w1", enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED)
	require.Len(t, asked, 1)
	assert.Equal(t, "no use", asked[0].GetWorkflowExecutionCancelRequestedEventAttributes().Cause)
}

// TestBatchResets: each workflow begins again once, also those that have ended, and what cannot be reset fails.
func TestBatchResets(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	in.beginMany(3)
	in.start(terminating("end", "WorkflowType = 'report'", 0))
	in.await("end")
	options := &common.ResetOptions{Target: &common.ResetOptions_LastWorkflowTask{}}
	r := resetting("again", "WorkflowType = 'report'", &batch.BatchOperationReset{Options: options, Identity: "anna"})
	in.start(r)
	d := in.await("again")
	in.start(r) // a repeat
	assert.EqualValues(t, [3]int64{3, 3, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_RESET_WORKFLOW, d.OperationType)
	assert.Equal(t, "anna", d.Identity)
	for i := range 3 {
		failed := in.events(fmt.Sprint("w", i), enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)
		require.Len(t, failed, 1, i)
		assert.Equal(t, enums.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW, failed[0].GetWorkflowTaskFailedEventAttributes().Cause)
		assert.Equal(t, "no use", failed[0].GetWorkflowTaskFailedEventAttributes().Failure.Message)
	}
	assert.Equal(t, 3, in.count("ExecutionStatus = 'Running'"))
	assert.Equal(t, 3, in.count("ExecutionStatus = 'Terminated'"))

	in.start(resetting("old", "WorkflowId = 'w0' AND ExecutionStatus = 'Running'", &batch.BatchOperationReset{
		ResetType: enums.RESET_TYPE_FIRST_WORKFLOW_TASK,
	}))
	assert.EqualValues(t, 1, in.await("old").CompleteOperationCount)
	in.start(resetting("build", "ExecutionStatus = 'Running'", &batch.BatchOperationReset{
		Options: &common.ResetOptions{Target: &common.ResetOptions_BuildId{BuildId: "unknown"}},
	}))
	assert.EqualValues(t, 3, in.await("build").FailureOperationCount)
}

// TestBatchDeletes: runs that a query finds are gone, those in progress too, and the others stay.
func TestBatchDeletes(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	in.beginMany(3)
	in.begin("other")
	in.start(terminating("end", "WorkflowId = 'w1'", 0))
	in.await("end")
	r := terminating("delete", "WorkflowId STARTS_WITH 'w'", 0)
	r.Operation = &workflowservice.StartBatchOperationRequest_DeletionOperation{
		DeletionOperation: &batch.BatchOperationDeletion{Identity: "anna"},
	}
	in.start(r)
	d := in.await("delete")
	assert.EqualValues(t, [3]int64{3, 3, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_DELETE_WORKFLOW, d.OperationType)
	assert.Equal(t, "anna", d.Identity)
	natstest.Eventually(t, patience, "the index forgets them", func() bool { return in.count("") == 1 })
	for i := range 3 {
		_, err := in.DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: fmt.Sprint("w", i)},
		})
		var none *serviceerror.NotFound
		assert.ErrorAs(t, err, &none)
	}
}

// TestBatchStops: what is done stays done, and the rest goes on.
func TestBatchStops(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	const many = 200
	in.beginMany(many)
	in.start(terminating("stop", "WorkflowType = 'report'", 1)) // it would take minutes
	natstest.Eventually(t, patience, "some are done", func() bool { return in.describe("stop").CompleteOperationCount > 0 })
	stop := &workflowservice.StopBatchOperationRequest{Namespace: "default", JobId: "stop", Reason: "a mistake", Identity: "ben"}
	_, err := in.StopBatchOperation(t.Context(), stop)
	require.NoError(t, err)
	d := in.describe("stop")
	assert.Equal(t, enums.BATCH_OPERATION_STATE_FAILED, d.State)
	assert.EqualValues(t, many, d.TotalOperationCount)
	assert.NotNil(t, d.CloseTime)
	assert.Positive(t, in.count("ExecutionStatus = 'Terminated'"))
	assert.Positive(t, in.count("ExecutionStatus = 'Running'"))
	_, err = in.StopBatchOperation(t.Context(), stop)
	var none *serviceerror.NotFound
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, "has ended already")
}

// TestBatchSurvivesItsProcess: another process continues, each execution gets its signal once, and those that began after the operation get
// none.
func TestBatchSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	kill := in.frontend(0)
	const many = 60
	in.beginMany(many)
	r := signaling("survives", 5)
	r.VisibilityQuery = "WorkflowType = 'report'"
	in.start(r)
	signaled := func() (n int) {
		for i := range many {
			n += len(in.events(fmt.Sprint("w", i), enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED))
		}
		return n
	}
	natstest.Eventually(t, patience, "more is done than recorded", func() bool {
		n, d := signaled(), in.describe("survives")
		return d.CompleteOperationCount > 0 && n > int(d.CompleteOperationCount)
	})
	const late = 10 // the other process finds them, or most of them, after the last of the first
	for i := range late {
		in.begin(fmt.Sprint("late", i))
	}
	kill()
	require.Less(t, signaled(), many)
	const ahead = time.Minute // longer than a lease
	in.frontend(ahead)
	d := in.await("survives")
	assert.Equal(t, enums.BATCH_OPERATION_STATE_COMPLETED, d.State)
	assert.EqualValues(t, [3]int64{many, many, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	for i := range many {
		assert.Len(t, in.events(fmt.Sprint("w", i), enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED), 1, i)
	}
	for i := range late {
		assert.Empty(t, in.events(fmt.Sprint("late", i), enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED), i)
	}
}

// TestBatchRepeats: the same request is the same job, another one with its ID is refused, and a list has each once.
func TestBatchRepeats(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	in.begin("a")
	for _, job := range []string{"one", "two", "three"} {
		r := signaling(job, 0)
		r.VisibilityQuery = "WorkflowId = 'a'"
		in.start(r)
		in.await(job)
		in.start(r)
	}
	assert.Len(t, in.events("a", enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED), 3)
	_, err := in.StartBatchOperation(t.Context(), terminating("one", "WorkflowId = 'a'", 0))
	var exists *serviceerror.AlreadyExists
	require.ErrorAs(t, err, &exists)

	var listed []string
	r := &workflowservice.ListBatchOperationsRequest{Namespace: "default", PageSize: 2}
	for {
		page, err := in.ListBatchOperations(t.Context(), r)
		require.NoError(t, err)
		for _, info := range page.OperationInfo {
			listed = append(listed, info.JobId)
			assert.Equal(t, enums.BATCH_OPERATION_TYPE_SIGNAL_WORKFLOW, info.OperationType)
			assert.Equal(t, enums.BATCH_OPERATION_STATE_COMPLETED, info.State)
		}
		if r.NextPageToken = page.NextPageToken; len(r.NextPageToken) == 0 {
			break
		}
	}
	assert.Equal(t, []string{"three", "two", "one"}, listed)
}

// TestBatchRefuses: errors are Temporal's, and say what is wrong.
func TestBatchRefuses(t *testing.T) {
	t.Parallel()
	in := withHistory(t)
	in.frontend(0)
	type start = workflowservice.StartBatchOperationRequest
	for name, test := range map[string]struct {
		change func(r *start)
		want   string
	}{
		"no target":       {func(r *start) { r.VisibilityQuery = "" }, "must provide required parameters"},
		"no reason":       {func(r *start) { r.Reason = "" }, "must provide required parameters"},
		"no operation":    {func(r *start) { r.Operation = nil }, "must provide required parameters"},
		"no job":          {func(r *start) { r.JobId = "" }, "JobId is not set on request."},
		"two targets":     {func(r *start) { r.Executions = []*common.WorkflowExecution{{WorkflowId: "a"}} }, "mutually exclusive"},
		"an unknown word": {func(r *start) { r.VisibilityQuery = "WorkflowType == 'x'" }, "invalid query: at character"},
		"no status":       {func(r *start) { r.VisibilityQuery = "ExecutionStatus = 'Runing'" }, "at character 19"},
		"no condition":    {func(r *start) { r.VisibilityQuery = "ORDER BY StartTime" }, "it has no condition"},
		"a group":         {func(r *start) { r.VisibilityQuery = "RunId = 'a' GROUP BY ExecutionStatus" }, "group by is for counts"},
		"a bracket":       {func(r *start) { r.VisibilityQuery = "RunId = 'a') OR (RunId = 'b'" }, "invalid query: at character"},
		"no rate":         {func(r *start) { r.MaxOperationsPerSecond = float32(math.NaN()) }, "MaxOperationsPerSecond"},
		"negative rate":   {func(r *start) { r.MaxOperationsPerSecond = -1 }, "MaxOperationsPerSecond"},
		"no workflow ID": {func(r *start) {
			r.VisibilityQuery, r.Executions = "", []*common.WorkflowExecution{{}}
		}, "WorkflowId is not set on request."},
		"an activity": {func(r *start) {
			r.VisibilityQuery, r.TargetExecutions = "", []*common.Execution{{Type: enums.EXECUTION_TYPE_ACTIVITY, BusinessId: "a"}}
		}, "target_executions[0] has type Activity"},
		"no signal name": {func(r *start) {
			r.Operation = &workflowservice.StartBatchOperationRequest_SignalOperation{SignalOperation: &batch.BatchOperationSignal{}}
		}, "SignalName is not set on request."},
		"no point to reset to": {func(r *start) {
			r.Operation = &workflowservice.StartBatchOperationRequest_ResetOperation{ResetOperation: &batch.BatchOperationReset{}}
		}, "ResetOperation.Options.Target is not set on request"},
		"too many": {func(r *start) {
			r.VisibilityQuery = ""
			for i := range 1001 {
				r.Executions = append(r.Executions, &common.WorkflowExecution{WorkflowId: fmt.Sprint(i)})
			}
		}, "batch executions count exceeded: 1001"},
	} {
		r := terminating("refused", "WorkflowType = 'report'", 0)
		test.change(r)
		_, err := in.StartBatchOperation(t.Context(), r)
		var invalid *serviceerror.InvalidArgument
		assert.ErrorAs(t, err, &invalid, name)
		assert.ErrorContains(t, err, test.want, name)
	}
	r := terminating("refused", "WorkflowType = 'report'", 0)
	r.Namespace = "nowhere"
	_, err := in.StartBatchOperation(t.Context(), r)
	var unknown *serviceerror.NamespaceNotFound
	assert.ErrorAs(t, err, &unknown)
	in.refuseKinds()
	_, err = in.DescribeBatchOperation(t.Context(), &workflowservice.DescribeBatchOperationRequest{Namespace: "default", JobId: "refused"})
	var none *serviceerror.NotFound
	assert.ErrorAs(t, err, &none, "nothing has been begun")
	_, err = in.StopBatchOperation(t.Context(), &workflowservice.StopBatchOperationRequest{Namespace: "default", JobId: "refused"})
	assert.ErrorContains(t, err, "Reason is not set on request.")
}

// refuseKinds asks for the operations that are not there. The error names each.
func (in batches) refuseKinds() {
	in.t.Helper()
	r := terminating("refused", "WorkflowType = 'report'", 0)
	field := r.ProtoReflect().Descriptor().Oneofs().ByName("operation").Fields()
	refused := 0
	for i := range field.Len() {
		switch field.Get(i).Name() {
		case "termination_operation", "signal_operation", "cancellation_operation", "reset_operation", "deletion_operation",
			"unpause_activities_operation", "reset_activities_operation", "update_activity_options_operation":
			continue
		}
		r.ProtoReflect().Set(field.Get(i), r.ProtoReflect().NewField(field.Get(i)))
		_, err := in.StartBatchOperation(in.t.Context(), r)
		var unimplemented *serviceerror.Unimplemented
		assert.ErrorAs(in.t, err, &unimplemented, field.Get(i).Name())
		assert.NotContains(in.t, err.Error(), `""`, field.Get(i).Name())
		refused++
	}
	assert.Equal(in.t, 4, refused)
}

// TestBatchWithoutIndex: nobody answers.
func TestBatchWithoutIndex(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, err := in.StartBatchOperation(t.Context(), terminating("job", "WorkflowType = 'report'", 0))
	var unavailable *serviceerror.Unavailable
	require.ErrorAs(t, err, &unavailable)
	assert.ErrorContains(t, err, "--no-search")
}
