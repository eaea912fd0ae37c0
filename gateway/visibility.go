package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/filter/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods here are about all executions of a namespace. The search index of a frontend answers.

var errNoIndex = serviceerror.NewUnavailable(
	"no frontend with a search index answers: start one without --no-search; everything that names its workflow works without it")

// askIndex passes a request on to a frontend with an index.
func (g *Gateway) askIndex(ctx context.Context, namespace, verb string, request, response proto.Message) error {
	subject := g.config.Names.Visibility(namespace, verb)
	err := call.Ask(ctx, g.config.Conn, subject, request, response)
	var unavailable *serviceerror.Unavailable
	if errors.As(err, &unavailable) && strings.Contains(unavailable.Message, subject) { // nobody answers on it
		return errNoIndex
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
	ctx context.Context, r *workflowservice.ScanWorkflowExecutionsRequest, //nolint:staticcheck // clients may use it for long
) (*workflowservice.ScanWorkflowExecutionsResponse, error) { //nolint:staticcheck // see above
	found, err := s.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.Namespace, PageSize: r.PageSize, NextPageToken: r.NextPageToken, Query: r.Query,
	})
	//nolint:staticcheck // see above
	return &workflowservice.ScanWorkflowExecutionsResponse{Executions: found.GetExecutions(), NextPageToken: found.GetNextPageToken()}, err
}

// ListOpenWorkflowExecutions returns a page of the executions that run.
func (s *workflowService) ListOpenWorkflowExecutions(
	ctx context.Context, r *workflowservice.ListOpenWorkflowExecutionsRequest,
) (*workflowservice.ListOpenWorkflowExecutionsResponse, error) {
	query := append([]string{"ExecutionStatus = 'Running'"}, between("StartTime", r.StartTimeFilter)...)
	switch {
	case r.GetExecutionFilter() != nil:
		query = append(query, equal("WorkflowId", r.GetExecutionFilter().WorkflowId))
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
		query = append(query, equal("WorkflowId", r.GetExecutionFilter().WorkflowId))
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

func equal(field, text string) string {
	return field + " = '" + strings.ReplaceAll(text, "'", "''") + "'"
}

// systemAttributes are what executions can be searched for beside their own search attributes, and those that SDKs and the service give them.
var systemAttributes = map[string]enums.IndexedValueType{
	"WorkflowId":           enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RunId":                enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WorkflowType":         enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TaskQueue":            enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ExecutionStatus":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"StartTime":            enums.INDEXED_VALUE_TYPE_DATETIME,
	"ExecutionTime":        enums.INDEXED_VALUE_TYPE_DATETIME,
	"CloseTime":            enums.INDEXED_VALUE_TYPE_DATETIME,
	"ExecutionDuration":    enums.INDEXED_VALUE_TYPE_INT,
	"HistoryLength":        enums.INDEXED_VALUE_TYPE_INT,
	"HistorySizeBytes":     enums.INDEXED_VALUE_TYPE_INT,
	"StateTransitionCount": enums.INDEXED_VALUE_TYPE_INT,
	"ParentWorkflowId":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ParentRunId":          enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RootWorkflowId":       enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RootRunId":            enums.INDEXED_VALUE_TYPE_KEYWORD,

	"BatcherUser":                enums.INDEXED_VALUE_TYPE_KEYWORD,
	"BinaryChecksums":            enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"BuildIds":                   enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalChangeVersion":      enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalReportedProblems":   enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalScheduledById":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TemporalScheduledStartTime": enums.INDEXED_VALUE_TYPE_DATETIME,
	"TemporalSchedulePaused":     enums.INDEXED_VALUE_TYPE_BOOL,
}

// ListSearchAttributes returns what executions can be searched for. The attributes of a namespace's own are those that its executions have.
func (s *operatorService) ListSearchAttributes(
	ctx context.Context, r *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	response := &operatorservice.ListSearchAttributesResponse{}
	if r.Namespace != "" {
		if err := s.askIndex(ctx, r.Namespace, subjects.VerbListAttributes, r, response); err != nil && !errors.Is(err, errNoIndex) {
			return nil, err
		}
	}
	maps.DeleteFunc(response.CustomAttributes, func(name string, _ enums.IndexedValueType) bool {
		_, system := systemAttributes[name]
		return system
	})
	response.SystemAttributes = maps.Clone(systemAttributes)
	return response, nil
}

// GetSearchAttributes returns the attributes that every namespace has. The request names none.
func (s *workflowService) GetSearchAttributes(
	context.Context, *workflowservice.GetSearchAttributesRequest,
) (*workflowservice.GetSearchAttributesResponse, error) {
	return &workflowservice.GetSearchAttributesResponse{Keys: maps.Clone(systemAttributes)}, nil
}
