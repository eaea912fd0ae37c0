package gateway

import (
	"cmp"
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// QueryWorkflow asks a worker about the state of an execution.
func (s *workflowService) QueryWorkflow(
	ctx context.Context, r *workflowservice.QueryWorkflowRequest,
) (*workflowservice.QueryWorkflowResponse, error) {
	err := cmp.Or(
		checkExecution(r.Execution), checkName("QueryType", r.GetQuery().GetQueryType()),
		checkBlobs(r.GetQuery().GetQueryArgs(), r.GetQuery().GetHeader()),
	)
	if err != nil {
		return nil, err
	}
	return route[workflowservice.QueryWorkflowResponse](
		ctx, s.Gateway, subjects.VerbQuery, schedule.Key{Namespace: r.Namespace, ID: r.Execution.WorkflowId}, r)
}

// RespondQueryTaskCompleted tells whoever awaits it the answer of a worker to a query. An answer that is too large becomes a failure.
func (s *workflowService) RespondQueryTaskCompleted(
	_ context.Context, r *workflowservice.RespondQueryTaskCompletedRequest,
) (*workflowservice.RespondQueryTaskCompletedResponse, error) {
	id, err := idOfQuery(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if r.CompletedType != enums.QUERY_RESULT_TYPE_ANSWERED && r.CompletedType != enums.QUERY_RESULT_TYPE_FAILED {
		return nil, serviceerror.NewInvalidArgument("CompletedType is not set on request.")
	}
	if isTooLarge(r.QueryResult) {
		r.CompletedType, r.QueryResult = enums.QUERY_RESULT_TYPE_FAILED, nil
		r.ErrorMessage = errBlobTooLarge.Error()
	}
	answer, err := proto.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := s.config.Conn.Publish(s.config.Names.QueryAnswer(r.Namespace, id), answer); err != nil {
		return nil, err
	}
	return &workflowservice.RespondQueryTaskCompletedResponse{}, nil
}
