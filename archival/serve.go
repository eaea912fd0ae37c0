package archival

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/eventpage"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// queue is the queue group of all processes that answer.
	queue = subjects.RoleArchival
	// concurrency is how many requests are worked on at once: each may hold a whole history. requestLimit bounds each of them.
	concurrency  = 16
	requestLimit = time.Minute
)

// serve answers requests about archives until the server is closed.
func (s *Service) serve(ctx context.Context) (*call.Server, error) {
	return call.Serve(ctx, call.Config{
		Conn: bus.Plain{Conn: s.config.JS.Conn()}, Handle: s.handle, Logger: s.config.Logger, Queue: queue,
		Concurrency: concurrency, Timeout: requestLimit,
	}, s.config.Names.Archives())
}

func (s *Service) handle(ctx context.Context, subject string, data []byte) (proto.Message, error) {
	namespace, verb, err := s.config.Names.ParseArchive(subject)
	if err != nil {
		return nil, serviceerror.NewInvalidArgument(err.Error())
	}
	in, err := s.bucketOf(ctx, namespace)
	if err != nil {
		return nil, err
	}
	defer in.release()
	select {
	case in.reads <- struct{}{}:
		defer func() { <-in.reads }()
	default:
		return nil, errBusy
	}
	var reply proto.Message
	err = in.within(ctx, requestLimit-lastWord, func(ctx context.Context) (err error) {
		reply, err = reading{Service: s, namespace: namespace, address: in.address, bucket: in.Bucket}.answer(ctx, verb, data)
		return err
	})
	return s.answered(ctx, in, reply, err)
}

// errBusy: the requests for one bucket take no more than their share of a process.
var errBusy = serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, "too many requests read this archive: try again")

// answered turns what came of a request into its answer. After an error of the bucket, the next request opens it again.
func (s *Service) answered(ctx context.Context, in *bucket, reply proto.Message, err error) (proto.Message, error) {
	var told serviceerror.ServiceError
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return nil, serviceerror.NewNotFound("workflow execution not found in the archive of its namespace")
	case err == nil:
		return reply, nil
	case ctx.Err() != nil, errors.As(err, &told):
		return nil, err
	}
	in.forget()
	s.log.WarnContext(ctx, "an archive cannot be read", "bucket", in.address, "error", err)
	return nil, serviceerror.NewUnavailable(err.Error())
}

// answer answers a request.
func (r reading) answer(ctx context.Context, verb string, data []byte) (proto.Message, error) {
	switch verb {
	case subjects.VerbArchivedHistory:
		return answer(ctx, data, &workflowservice.GetWorkflowExecutionHistoryRequest{}, r.history)
	case subjects.VerbArchivedHistoryReverse:
		return answer(ctx, data, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{}, r.historyReverse)
	case subjects.VerbListArchived:
		return answer(ctx, data, &workflowservice.ListArchivedWorkflowExecutionsRequest{}, r.list)
	case subjects.VerbVerifyArchived:
		return answer(ctx, data, &workflowservice.ListArchivedWorkflowExecutionsRequest{}, r.verify)
	case subjects.VerbListSchedules:
		return answer(ctx, data, &wrapperspb.BytesValue{}, r.listSchedules)
	case subjects.VerbVerifySchedules:
		return answer(ctx, data, &wrapperspb.BytesValue{}, r.verifySchedules)
	case subjects.VerbScheduleEvents:
		return answer(ctx, data, &wrapperspb.BytesValue{}, r.scheduleEvents)
	}
	return nil, serviceerror.NewUnimplemented(fmt.Sprintf("an archive has no %q", verb))
}

// answer decodes a request and answers it.
func answer[R proto.Message, A proto.Message](
	ctx context.Context, data []byte, request R, do func(context.Context, R) (A, error),
) (proto.Message, error) {
	if err := proto.Unmarshal(data, request); err != nil {
		return nil, serviceerror.NewInvalidArgument("the request cannot be read")
	}
	return do(ctx, request)
}

// bucketOf returns the bucket of a namespace. The caller releases it.
func (s *Service) bucketOf(ctx context.Context, namespace string) (*bucket, error) {
	record, known := s.config.Namespaces.Get(namespace)
	switch {
	case !known:
		return nil, serviceerror.NewNamespaceNotFound(namespace)
	case record.Unreadable && record.Limits.Archive == "":
		return nil, serviceerror.NewUnavailable("the record of namespace " + namespace + " cannot be read: carillon cluster health says more")
	case record.Limits.Archive == "":
		return nil, serviceerror.NewInvalidArgument("Namespace " + namespace + " is not configured for archival.")
	}
	in, err := s.buckets.use(ctx, record.Limits.Archive)
	if err != nil {
		return nil, serviceerror.NewUnavailable(err.Error())
	}
	return in, nil
}

// reading reads the archive of a namespace.
type reading struct {
	*Service
	namespace string
	address   string
	bucket    *archive.Bucket
}

// bytesOfPage returns how large a page may be.
func (r reading) bytesOfPage() int { return eventpage.BytesOf(r.config.JS.Conn().MaxPayload()) }
