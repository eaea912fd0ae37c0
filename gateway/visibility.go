package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/filter/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/attributes"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods here are about all executions of a namespace. The search index of a frontend answers.

var errNoIndex = serviceerror.NewUnavailable(
	"no frontend with a search index answers: start one without --no-search; everything that names its workflow works without it")

// mostAsked is how many frontends are asked at most, one after the other, while they say that their index is being built. NATS chooses them by
// chance, so one that is ready is found as good as always.
const mostAsked = 20

// askIndex passes a request on to a frontend with an index.
func (g *Gateway) askIndex(ctx context.Context, namespace, verb string, request, response proto.Message) (err error) {
	subject := g.config.Names.Visibility(namespace, verb)
	for range mostAsked {
		err = call.Ask(ctx, g.config.Conn, subject, request, response)
		var unavailable *serviceerror.Unavailable
		var building *serviceerror.FailedPrecondition
		switch {
		case errors.As(err, &unavailable) && strings.Contains(unavailable.Message, subject): // nobody answers on it
			return errNoIndex
		case !errors.As(err, &building):
			return err
		}
	}
	return err
}

// ListWorkflowExecutions returns a page of the executions for which a query holds.
func (s *workflowService) ListWorkflowExecutions(
	ctx context.Context, r *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	response := &workflowservice.ListWorkflowExecutionsResponse{}
	return response, s.askIndex(ctx, r.Namespace, subjects.VerbListExecutions, r, response)
}

// CountWorkflowExecutions counts the executions for which a query holds.
func (s *workflowService) CountWorkflowExecutions(
	ctx context.Context, r *workflowservice.CountWorkflowExecutionsRequest,
) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	response := &workflowservice.CountWorkflowExecutionsResponse{}
	return response, s.askIndex(ctx, r.Namespace, subjects.VerbCountExecutions, r, response)
}

// ScanWorkflowExecutions is the name that older clients have for ListWorkflowExecutions.
func (s *workflowService) ScanWorkflowExecutions(
	//lint:ignore SA1019 clients may use it for long
	ctx context.Context, r *workflowservice.ScanWorkflowExecutionsRequest,
) (
	*workflowservice.ScanWorkflowExecutionsResponse, error, //lint:ignore SA1019 as above
) {
	found, err := s.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.Namespace, PageSize: r.PageSize, NextPageToken: r.NextPageToken, Query: r.Query,
	})
	//lint:ignore SA1019 as above
	return &workflowservice.ScanWorkflowExecutionsResponse{Executions: found.GetExecutions(), NextPageToken: found.GetNextPageToken()}, err
}

// ListOpenWorkflowExecutions returns a page of the executions that run.
func (s *workflowService) ListOpenWorkflowExecutions(
	ctx context.Context, r *workflowservice.ListOpenWorkflowExecutionsRequest,
) (*workflowservice.ListOpenWorkflowExecutionsResponse, error) {
	query := append([]string{"ExecutionStatus = 'Running'"}, between("StartTime", r.StartTimeFilter)...)
	switch {
	case r.GetExecutionFilter() != nil:
		query = append(query, sameExecution(r.GetExecutionFilter())...)
	case r.GetTypeFilter() != nil:
		query = append(query, equal("WorkflowType", r.GetTypeFilter().Name))
	}
	found, err := s.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.Namespace, PageSize: r.MaximumPageSize, NextPageToken: r.NextPageToken, Query: strings.Join(query, " AND "),
	})
	return &workflowservice.ListOpenWorkflowExecutionsResponse{Executions: found.GetExecutions(), NextPageToken: found.GetNextPageToken()}, err
}

// ListClosedWorkflowExecutions returns a page of the executions that have ended. Its time is when they ended.
func (s *workflowService) ListClosedWorkflowExecutions(
	ctx context.Context, r *workflowservice.ListClosedWorkflowExecutionsRequest,
) (*workflowservice.ListClosedWorkflowExecutionsResponse, error) {
	query := append([]string{"ExecutionStatus != 'Running'"}, between("CloseTime", r.StartTimeFilter)...)
	switch {
	case r.GetExecutionFilter() != nil:
		query = append(query, sameExecution(r.GetExecutionFilter())...)
	case r.GetTypeFilter() != nil:
		query = append(query, equal("WorkflowType", r.GetTypeFilter().Name))
	case r.GetStatusFilter() != nil:
		query = append(query, fmt.Sprintf("ExecutionStatus = %d", r.GetStatusFilter().Status))
	}
	found, err := s.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.Namespace, PageSize: r.MaximumPageSize, NextPageToken: r.NextPageToken, Query: strings.Join(query, " AND "),
	})
	return &workflowservice.ListClosedWorkflowExecutionsResponse{Executions: found.GetExecutions(), NextPageToken: found.GetNextPageToken()}, err
}

// between returns the conditions that a filter by time stands for.
func between(field string, times *filter.StartTimeFilter) (conditions []string) {
	if earliest := times.GetEarliestTime(); earliest != nil && !earliest.AsTime().IsZero() {
		conditions = append(conditions, field+" >= '"+earliest.AsTime().Format(time.RFC3339Nano)+"'")
	}
	if latest := times.GetLatestTime(); latest != nil && !latest.AsTime().IsZero() {
		conditions = append(conditions, field+" <= '"+latest.AsTime().Format(time.RFC3339Nano)+"'")
	}
	return conditions
}

// sameExecution returns the conditions that a filter by workflow ID, and maybe by run ID, stands for.
func sameExecution(f *filter.WorkflowExecutionFilter) []string {
	conditions := []string{equal("WorkflowId", f.WorkflowId)}
	if f.RunId != "" {
		conditions = append(conditions, equal("RunId", f.RunId))
	}
	return conditions
}

func equal(field, text string) string {
	return field + " = '" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(text) + "'"
}

// GetSearchAttributes returns the attributes that every namespace has. The request names none.
func (s *workflowService) GetSearchAttributes(
	context.Context, *workflowservice.GetSearchAttributesRequest,
) (*workflowservice.GetSearchAttributesResponse, error) {
	return &workflowservice.GetSearchAttributesResponse{Keys: attributes.All()}, nil
}
