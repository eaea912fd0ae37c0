package batch

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// indexWait is the longest time a start waits for the index to read the latest changes.
const indexWait = 2 * time.Second

// The ID of an item is run ID, slash, workflow ID. The run ID comes first because an index has the runs in that order. It is empty for an
// execution that is named without: then the run is meant that is in progress when its turn comes.

func itemOf(execution *common.WorkflowExecution) string {
	return execution.GetRunId() + "/" + execution.GetWorkflowId()
}

func executionOf(item string) *common.WorkflowExecution {
	run, workflow, _ := strings.Cut(item, "/")
	return &common.WorkflowExecution{WorkflowId: workflow, RunId: run}
}

// itemsOf returns the items that a request names, in order and each once.
func itemsOf(r *workflowservice.StartBatchOperationRequest) []string {
	var items []string
	for _, execution := range r.Executions {
		items = append(items, itemOf(execution))
	}
	for _, execution := range r.TargetExecutions {
		items = append(items, execution.RunId+"/"+execution.BusinessId)
	}
	slices.Sort(items)
	return slices.Compact(items)
}

// The conditions of Carillon's own.
var (
	runID  = query.Field{Source: query.Execution, Name: query.RunID}
	isOpen = query.Compare{
		Field: query.Field{Source: query.Execution, Name: query.ExecutionStatus}, Op: query.Equal,
		Value: query.IntOf(int64(enums.WORKFLOW_EXECUTION_STATUS_RUNNING)),
	}
	startTime = query.Field{Source: query.Execution, Name: query.StartTime}
)

// selects parses the query of a request, and returns one that finds its items: those that run, or all if they are to be deleted or
// reset. The error is Temporal's.
func (s *Service) selects(ctx context.Context, r *workflowservice.StartBatchOperationRequest) (*query.Query, error) {
	text := r.VisibilityQuery
	if len(text) > maxQuery {
		return nil, serviceerror.NewInvalidArgumentf("invalid query: it has %d bytes, and %d is the most", len(text), maxQuery)
	}
	q, err := s.config.Index.ParseExecutions(ctx, r.Namespace, text)
	var wrong *query.Error
	switch {
	case errors.As(err, &wrong):
		return nil, serviceerror.NewInvalidArgument("invalid query: " + query.Explain(text, err))
	case err != nil:
		return nil, err
	case q.Group != nil:
		return nil, serviceerror.NewInvalidArgument("invalid query: group by is for counts")
	case q.Where == nil:
		return nil, serviceerror.NewInvalidArgument(
			"invalid query: it has no condition; if all workflows are meant, use ExecutionStatus = 'Running'")
	}
	if r.GetResetOperation() != nil || r.GetDeletionOperation() != nil {
		return &query.Query{Where: q.Where}, nil
	}
	return &query.Query{Where: and(q.Where, isOpen)}, nil
}

// and joins conditions.
func and(where query.Expr, more ...query.Expr) query.Expr {
	parts, ok := where.(query.And)
	if !ok {
		parts = query.And{where}
	}
	return slices.Concat(parts, more)
}

// survey returns how many executions a request means now, and when the last of them began.
func (s *Service) survey(ctx context.Context, r *workflowservice.StartBatchOperationRequest) (total int, until time.Time, err error) {
	s.config.Index.AwaitExecutions(ctx, indexWait)
	q, err := s.selects(ctx, r)
	if err != nil {
		return 0, until, err
	}
	count, _, err := s.config.Index.CountExecutions(ctx, r.Namespace, q)
	if err != nil {
		return 0, until, err
	}
	total = int(count.Total)
	q.Order = &query.Order{Field: startTime, Desc: true}
	last, _, err := s.config.Index.Executions(ctx, r.Namespace, q, search.ExecutionPosition{}, 1)
	if err != nil || len(last) == 0 {
		return total, until, err
	}
	return total, last[0].Info.GetStartTime().AsTime(), nil
}

// found returns the items that a request means now after one: at most limit of those that began by a certain time.
func (s *Service) found(
	ctx context.Context, r *workflowservice.StartBatchOperationRequest, until time.Time, after string, limit int,
) ([]string, error) {
	q, err := s.selects(ctx, r)
	if err != nil {
		return nil, err
	}
	q.Where = and(q.Where, query.Compare{Field: startTime, Op: query.LessOrEqual, Value: query.TimeOf(until)})
	q.Order = &query.Order{Field: runID}
	var position search.ExecutionPosition
	if after != "" {
		run := executionOf(after).RunId
		position = search.ExecutionPosition{RunID: run, Value: run}
	}
	found, _, err := s.config.Index.Executions(ctx, r.Namespace, q, position, limit)
	items := make([]string, len(found))
	for i, f := range found {
		items[i] = itemOf(f.Info.GetExecution())
	}
	return items, err
}
