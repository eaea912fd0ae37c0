package pages

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

func (p *Pages) addBatches() {
	p.bounded("GET "+Base+"{namespace}/batches", p.batches)
	p.bounded("GET "+Base+"{namespace}/batches/{job}", p.batch)
	p.bounded("POST "+Base+"{namespace}/batches/{job}/stop", p.stopBatch)
	p.bounded("GET "+Base+"{namespace}/new-batch", p.newBatch)
	p.bounded("POST "+Base+"{namespace}/new-batch", p.startBatch)
}

// previewRows is how many executions a preview shows.
const previewRows = 10

// batchPreview is what a batch operation would be about.
type batchPreview struct {
	Query, Refused string
	// Count is how many executions the query finds, and Filters how many of each status.
	Count   int64
	Filters []statusFilter
	Rows    []executionRow
}

// operations are what a batch operation does to each execution.
var operations = []actChoice{
	{"terminate", "Terminate those that run"}, {"cancel", "Ask those that run to cancel"}, {"signal", "Send a signal to those that run"},
	{"reset-last", "Reset all to their last workflow task"}, {"reset-first", "Reset all to their first workflow task"}, {"delete", "Delete all with their histories"},
}

func (p *Pages) batchForm(asks *speaker.Speaker) *actForm {
	return &actForm{
		Title: "Batch operation", Of: "Executions", Back: address(asks.Namespace(), "executions"), Button: "Begin", Request: p.config.NewID(),
		Intro: "One thing is done to all executions that a query finds when the operation begins and when their turn comes, 100 a second.",
		Fields: []actField{
			{Name: "operation", Label: "What to do", Kind: "choice", Choices: operations, Value: operations[0].Value},
			{Name: "reason", Label: "Reason", Required: true},
			{Name: "name", Label: "Name of the signal", Hint: "Only for a signal."},
			{Name: "input", Label: "Input of the signal", Kind: "json", Hint: jsonHint},
		},
	}
}

// newBatch shows what a query finds, and the form for what to do with it.
func (p *Pages) newBatch(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	return p.previewed(ctx, asks, p.batchForm(asks), r)
}

// previewed adds to a form what its query finds.
func (p *Pages) previewed(ctx context.Context, asks *speaker.Speaker, form *actForm, r *http.Request) (*answer, error) {
	preview := &batchPreview{Query: strings.TrimSpace(r.URL.Query().Get("query"))}
	if form.Preview = preview; preview.Query == "" {
		return form.page(), nil
	}
	count, err := asks.Workflows.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: asks.Namespace(), Query: preview.Query})
	if status.Code(err) == codes.InvalidArgument {
		preview.Refused = status.Convert(err).Message()
		return form.page(), nil
	}
	if err != nil {
		return nil, err
	}
	found, err := asks.Workflows.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: asks.Namespace(), PageSize: previewRows, Query: preview.Query,
	})
	if err != nil {
		return nil, err
	}
	preview.Count, preview.Rows = count.Count, p.executionRows(asks.Namespace(), found.Executions)
	if all := filters(ctx, asks, preview.Query); len(all) > 0 {
		preview.Filters = all[1:]
	}
	return form.page(), nil
}

// startBatch begins a batch operation, and leads to it. Sending the form twice begins one.
func (p *Pages) startBatch(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	form := p.batchForm(asks)
	form.fill(r)
	query := strings.TrimSpace(r.URL.Query().Get("query"))
	request := &workflowservice.StartBatchOperationRequest{
		Namespace: asks.Namespace(), VisibilityQuery: query, JobId: form.Request, Reason: form.value("reason"),
	}
	input, isJSON := form.arguments("input")
	if isComplete := form.isComplete(); !isJSON || !isComplete || !operate(request, form, input, asks.Identity) {
		return p.previewed(ctx, asks, form, r)
	}
	if _, err := asks.Workflows.StartBatchOperation(ctx, request); err != nil {
		form.refuse(err)
		return p.previewed(ctx, asks, form, r)
	}
	return &answer{to: address(asks.Namespace(), "batches", form.Request)}, nil
}

// operate adds to a request what is done to each execution. It returns false if the form does not say enough, and says so there.
func operate(request *workflowservice.StartBatchOperationRequest, form *actForm, input *common.Payloads, identity string) bool {
	switch form.value("operation") {
	case "terminate":
		request.Operation = &workflowservice.StartBatchOperationRequest_TerminationOperation{TerminationOperation: &batch.BatchOperationTermination{Identity: identity}}
	case "cancel":
		request.Operation = &workflowservice.StartBatchOperationRequest_CancellationOperation{CancellationOperation: &batch.BatchOperationCancellation{Identity: identity}}
	case "signal":
		if form.value("name") == "" {
			form.mistake("name", "is required")
			return false
		}
		request.Operation = &workflowservice.StartBatchOperationRequest_SignalOperation{SignalOperation: &batch.BatchOperationSignal{Signal: form.value("name"), Input: input, Identity: identity}}
	case "reset-last":
		request.Operation = resetTo(&common.ResetOptions{Target: &common.ResetOptions_LastWorkflowTask{LastWorkflowTask: &emptypb.Empty{}}}, identity)
	case "reset-first":
		request.Operation = resetTo(&common.ResetOptions{Target: &common.ResetOptions_FirstWorkflowTask{FirstWorkflowTask: &emptypb.Empty{}}}, identity)
	case "delete":
		request.Operation = &workflowservice.StartBatchOperationRequest_DeletionOperation{DeletionOperation: &batch.BatchOperationDeletion{Identity: identity}}
	default:
		form.mistake("operation", "is none of the choices")
		return false
	}
	return true
}

func resetTo(options *common.ResetOptions, identity string) *workflowservice.StartBatchOperationRequest_ResetOperation {
	return &workflowservice.StartBatchOperationRequest_ResetOperation{ResetOperation: &batch.BatchOperationReset{Identity: identity, Options: options}}
}

// batchList is the page with the batch operations of a namespace.
type batchList struct {
	Rows    []batchRow
	Next    string
	IsFirst bool
}

// batchRow is a batch operation.
type batchRow struct {
	ID, Address string
	State       state
	Start       moment
	Close       moment
}

var batchStates = map[enums.BatchOperationState]state{
	enums.BATCH_OPERATION_STATE_RUNNING: {"running", "busy"}, enums.BATCH_OPERATION_STATE_COMPLETED: {"completed", "good"},
	enums.BATCH_OPERATION_STATE_FAILED: {"failed or stopped", "bad"},
}

func stateOfBatch(of enums.BatchOperationState) state {
	if known, ok := batchStates[of]; ok {
		return known
	}
	return state{strings.ToLower(of.String()), "quiet"}
}

// batches shows the batch operations of a namespace, the newest first.
func (p *Pages) batches(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	token, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	found, err := asks.Workflows.ListBatchOperations(ctx, &workflowservice.ListBatchOperationsRequest{
		Namespace: asks.Namespace(), PageSize: manyThings, NextPageToken: token,
	})
	if err != nil {
		return nil, err
	}
	list, now := &batchList{IsFirst: len(token) == 0}, p.config.Now()
	for _, b := range found.OperationInfo {
		list.Rows = append(list.Rows, batchRow{
			ID: cut(b.GetJobId(), namesInList), Address: address(asks.Namespace(), "batches", b.GetJobId()), State: stateOfBatch(b.GetState()),
			Start: momentOfProto(b.GetStartTime(), now), Close: momentOfProto(b.GetCloseTime(), now),
		})
	}
	if len(found.NextPageToken) > 0 {
		list.Next = address(asks.Namespace(), "batches") + queryOf("after", placeText(found.NextPageToken))
	}
	return &answer{view: "batches", title: "Batch operations", data: list}, nil
}

// batchOne is the page of one batch operation.
type batchOne struct {
	batchRow
	Kind, Identity, Reason, Query string
	Total, Done, Failed           int64
	IsOpen                        bool
	Took                          string
}

// batch shows one batch operation.
func (p *Pages) batch(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	d, err := asks.Workflows.DescribeBatchOperation(ctx, &workflowservice.DescribeBatchOperationRequest{
		Namespace: asks.Namespace(), JobId: r.PathValue("job"),
	})
	if err != nil {
		return nil, err
	}
	now := p.config.Now()
	one := &batchOne{
		batchRow: batchRow{ID: d.JobId, Address: address(asks.Namespace(), "batches", d.JobId), State: stateOfBatch(d.State), Start: momentOfProto(d.StartTime, now), Close: momentOfProto(d.CloseTime, now)},
		Kind:     strings.ToLower(strings.ReplaceAll(d.OperationType.String(), "_", " ")), Identity: d.Identity, Reason: d.Reason, Query: cut(d.Query, longText),
		Total: d.TotalOperationCount, Done: d.CompleteOperationCount, Failed: d.FailureOperationCount, IsOpen: d.State == enums.BATCH_OPERATION_STATE_RUNNING,
	}
	if d.CloseTime != nil && d.StartTime != nil {
		one.Took = lasted(d.CloseTime.AsTime().Sub(d.StartTime.AsTime()).Round(time.Millisecond))
	}
	return &answer{view: "batch", title: "Batch operation", data: one}, nil
}

// stopBatch stops a batch operation, and leads back to it.
func (p *Pages) stopBatch(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	if reason == "" {
		reason = "stopped in the console"
	}
	_, err := asks.Workflows.StopBatchOperation(ctx, &workflowservice.StopBatchOperationRequest{
		Namespace: asks.Namespace(), JobId: r.PathValue("job"), Reason: reason, Identity: asks.Identity,
	})
	return &answer{to: address(asks.Namespace(), "batches", r.PathValue("job")) + "?said=stop-batch"}, err
}
