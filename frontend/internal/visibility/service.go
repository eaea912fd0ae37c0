package visibility

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/frontend/internal/batch"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// queue is the queue group of all processes that answer.
	queue = "visibility"
	// indexWait is the longest time a request waits for the index to read the latest changes.
	indexWait = 2 * time.Second
	// maxPage is how many executions a page has at most, and if the request does not say.
	maxPage = 1000
	// maxAnswer is how many bytes of an answer a gRPC client takes unless it says otherwise.
	maxAnswer = 4 << 20
	// replyOverhead is how many bytes an answer has beside its executions: a page token above all.
	replyOverhead = 4096
	// perExecution is how many bytes an execution takes in an answer beside its own.
	perExecution = 16
)

// Config is what the service needs. All fields are required.
type Config struct {
	Conn  *nats.Conn
	Names subjects.Names
	Index *search.Index
	// Batches carries out the requests about batch operations.
	Batches *batch.Service
	// Elsewhere says where the installation is active, if not here: requests that write are refused.
	Elsewhere *site.Elsewhere
	Logger    *slog.Logger
}

// Serve answers requests until the server is closed. The end of ctx aborts those in progress.
func Serve(ctx context.Context, config Config) (*call.Server, error) {
	s := &service{config}
	return call.Serve(ctx, call.Config{Conn: bus.Plain{Conn: config.Conn}, Handle: s.handle, Logger: config.Logger, Queue: queue}, config.Names.Visibilities())
}

type service struct{ config Config }

func (s *service) handle(ctx context.Context, subject string, data []byte) (response proto.Message, err error) {
	namespace, verb, err := s.config.Names.ParseVisibility(subject)
	if err != nil {
		return nil, serviceerror.NewInvalidArgument(err.Error())
	}
	if s.config.Elsewhere != nil && !subjects.OnlyReads(verb) {
		return nil, s.config.Elsewhere.NotActive(namespace)
	}
	switch verb {
	case subjects.VerbListExecutions:
		response, err = answer(ctx, namespace, data, &workflowservice.ListWorkflowExecutionsRequest{}, s.list)
	case subjects.VerbCountExecutions:
		response, err = answer(ctx, namespace, data, &workflowservice.CountWorkflowExecutionsRequest{}, s.count)
	case subjects.VerbStartBatch:
		response, err = answer(ctx, namespace, data, &workflowservice.StartBatchOperationRequest{}, s.config.Batches.Start)
	case subjects.VerbStopBatch:
		response, err = answer(ctx, namespace, data, &workflowservice.StopBatchOperationRequest{}, s.config.Batches.Stop)
	case subjects.VerbDescribeBatch:
		response, err = answer(ctx, namespace, data, &workflowservice.DescribeBatchOperationRequest{}, s.config.Batches.Describe)
	case subjects.VerbListBatches:
		response, err = answer(ctx, namespace, data, &workflowservice.ListBatchOperationsRequest{}, s.config.Batches.List)
	default:
		return nil, serviceerror.NewUnimplementedf("%s is not implemented", verb)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return response, nil
}

// answer decodes a request and answers it. The subject says which namespace the request is about.
func answer[Request interface {
	proto.Message
	GetNamespace() string
}, Response proto.Message](
	ctx context.Context, namespace string, data []byte, request Request, do func(context.Context, Request) (Response, error),
) (proto.Message, error) {
	if err := proto.Unmarshal(data, request); err != nil {
		return nil, serviceerror.NewInvalidArgumentf("the request cannot be read: %v", err)
	}
	if request.GetNamespace() != namespace {
		return nil, serviceerror.NewInvalidArgumentf("the request is about the namespace %q, and was sent to %q", request.GetNamespace(), namespace)
	}
	return do(ctx, request)
}

// shortBuild is for how long clients may try again without hearing why. An index that is only opened takes less.
const shortBuild = 5 * time.Second

// explain turns errors of the index into Temporal's. Temporal's SDKs try again what is unavailable until their time is over, and say only that it is:
// right for a moment, wrong for the minutes in which a large index is built.
func (s *service) explain(err error) error {
	var ours *schedule.Error
	switch {
	case !errors.As(err, &ours):
		return err
	case ours.Code == schedule.CodeUnavailable && s.config.Index.Building() > shortBuild:
		return serviceerror.NewFailedPrecondition(ours.Message)
	case ours.Code == schedule.CodeUnavailable:
		return serviceerror.NewUnavailable(ours.Message)
	case ours.Code == schedule.CodeInvalidArgument:
		return serviceerror.NewInvalidArgument("invalid query: " + ours.Message)
	}
	return err
}

func (s *service) parse(ctx context.Context, namespace, text string) (*query.Query, error) {
	q, err := s.config.Index.ParseExecutions(ctx, namespace, text)
	var wrong *query.Error
	if errors.As(err, &wrong) {
		return nil, serviceerror.NewInvalidArgument("invalid query: " + query.Explain(text, err))
	}
	return q, err
}

func (s *service) list(
	ctx context.Context, r *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if len(r.NextPageToken) == 0 { // a further page continues what the first one began
		s.config.Index.AwaitExecutions(ctx, indexWait)
	}
	q, err := s.parse(ctx, r.Namespace, r.Query)
	if err != nil {
		return nil, err
	}
	if q.Group != nil {
		return nil, serviceerror.NewInvalidArgument("invalid query: group by is for counts")
	}
	mark := fingerprint(r.Query)
	after, err := decodeToken(mark, r.NextPageToken)
	if err != nil {
		return nil, err
	}
	size := maxPage
	if r.PageSize > 0 {
		size = min(int(r.PageSize), maxPage)
	}
	found, _, err := s.config.Index.Executions(ctx, r.Namespace, q, after, size+1)
	if err != nil {
		return nil, err
	}
	more := len(found) > size
	found = found[:min(len(found), size)]
	if fits := fit(found, min(int(s.config.Conn.MaxPayload()), maxAnswer)-replyOverhead); fits < len(found) {
		found, more = found[:fits], true
	}
	response := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, f := range found {
		response.Executions = append(response.Executions, f.Info)
	}
	if more {
		response.NextPageToken, err = encodeToken(mark, found[len(found)-1].ExecutionPosition)
	}
	return response, err
}

// fit returns how many executions fit into an answer of a size: at least one, whose memo is left out if it does not fit by itself.
func fit(found []search.FoundExecution, room int) int {
	for i := range found {
		if i == 0 && proto.Size(found[0].Info) > room {
			found[0].Info.Memo = nil
		}
		room -= proto.Size(found[i].Info) + perExecution
		if room < 0 {
			return max(i, 1)
		}
	}
	return len(found)
}

func (s *service) count(
	ctx context.Context, r *workflowservice.CountWorkflowExecutionsRequest,
) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	s.config.Index.AwaitExecutions(ctx, indexWait)
	q, err := s.parse(ctx, r.Namespace, r.Query)
	if err != nil {
		return nil, err
	}
	count, _, err := s.config.Index.CountExecutions(ctx, r.Namespace, q)
	response := &workflowservice.CountWorkflowExecutionsResponse{Count: count.Total}
	for _, g := range count.Groups {
		response.Groups = append(response.Groups, groupOf(q.Group, g))
	}
	return response, err
}
