package batch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The kinds of jobs that are batch operations. A job with a query needs a search index, which not every frontend has.
const (
	kindPrefix     = "batch."
	kindQuery      = kindPrefix + "query"
	kindExecutions = kindPrefix + "executions"
)

const (
	// maxActive is how many batch operations of a namespace may run at once.
	maxActive = 20
	// maxExecutions is how many executions a batch operation may name one by one.
	maxExecutions = 1000
	// maxQuery is how many bytes a query may have.
	maxQuery = 8 << 10
	// partOfMessage is which part of a message of NATS a request may take. It is in the record of the job, which also has the runs of a page.
	partOfMessage = 4
)

// Config is what a [Service] needs. All fields but Index are required.
type Config struct {
	// Jobs holds the operations.
	Jobs *jobs.Store
	// Index finds the executions of a query. Without it the service does only jobs that name their executions, and answers no requests.
	Index *search.Index
	// Workflows asks history.
	Workflows *workflows.Client
	// MaxMessage returns how many bytes a message of NATS may have.
	MaxMessage func() int64
	// Logger gets what operators have done.
	Logger *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Service carries out the requests about batch operations. Gateways have checked what needs no state. It keeps nothing between requests, and is
// safe for concurrent use. Its errors are those of package serviceerror, or come from NATS or the index.
type Service struct{ config Config }

// New returns a service.
func New(config Config) *Service { return &Service{config} }

// Works returns what the background jobs of each kind do. Without an index, jobs with a query are left to other frontends.
func (s *Service) Works() map[string]jobs.Work {
	works := map[string]jobs.Work{kindExecutions: work{s}}
	if s.config.Index != nil {
		works[kindQuery] = work{s}
	}
	return works
}

// parameters are what a job keeps of the request that has started it.
type parameters struct {
	// Request is a StartBatchOperationRequest.
	Request []byte `json:"request"`
	// Until is when the last of the executions began that a query found at the start.
	Until time.Time `json:"until,omitzero"`
}

// Start stores a job, which a frontend begins at once. The same request again finds the job that it began.
func (s *Service) Start(
	ctx context.Context, r *workflowservice.StartBatchOperationRequest,
) (*workflowservice.StartBatchOperationResponse, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		return nil, serviceerror.NewInvalidArgumentf("the request cannot be encoded: %v", err)
	}
	if most := s.config.MaxMessage() / partOfMessage; int64(len(data)) > most {
		return nil, serviceerror.NewInvalidArgumentf("the batch operation has %d bytes, and %d is the most: name fewer executions, or use a query", len(data), most)
	}
	response := &workflowservice.StartBatchOperationResponse{}
	if known, err := s.isRepeat(ctx, r, data); known || err != nil {
		return response, err
	}
	job, err := s.newJob(ctx, r, data)
	if err != nil {
		return nil, err
	}
	if err := s.admit(ctx, r.Namespace); err != nil {
		return nil, err
	}
	created, err := s.config.Jobs.Create(ctx, job)
	if err == nil && !created { // another request with the ID was faster
		_, err = s.isRepeat(ctx, r, data)
	}
	return response, err
}

// isRepeat reports whether a request has begun its job already. The error says that another request has.
func (s *Service) isRepeat(ctx context.Context, r *workflowservice.StartBatchOperationRequest, data []byte) (bool, error) {
	job, err := s.config.Jobs.Get(ctx, r.Namespace, jobID(r.Namespace, r.JobId))
	switch {
	case errors.Is(err, jobs.ErrNone):
		return false, nil
	case err != nil:
		return false, err
	}
	of, err := parametersOf(&job)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(of.Request, data) {
		return false, serviceerror.NewAlreadyExistsf("batch operation %q is another one: use a new JobId", r.JobId)
	}
	return true, nil
}

// jobID names the job of a batch operation. Whatever the client has chosen becomes one token of a subject.
func jobID(namespace, id string) string { return request.DerivedID("batch/" + namespace + "/" + id) }

func (s *Service) newJob(ctx context.Context, r *workflowservice.StartBatchOperationRequest, data []byte) (jobs.Job, error) {
	_, identity := operationOf(r)
	job := jobs.Job{
		Namespace: r.Namespace, ID: jobID(r.Namespace, r.JobId), Kind: kindExecutions, Identity: identity, CreateTime: s.config.Now().UTC(),
		Rate: rateOf(r.MaxOperationsPerSecond),
	}
	of := parameters{Request: data}
	var err error
	if r.VisibilityQuery == "" {
		if job.Total = len(itemsOf(r)); job.Total > maxExecutions {
			return job, serviceerror.NewInvalidArgumentf("batch executions count exceeded: %d, and %d is the most", job.Total, maxExecutions)
		}
	} else {
		job.Kind = kindQuery
		if job.Total, of.Until, err = s.survey(ctx, r); err != nil {
			return job, err
		}
	}
	job.Parameters, err = json.Marshal(of)
	return job, err
}

// rateOf returns the rate of a job. A client's is a fraction, and 0 stands for the usual one.
func rateOf(perSecond float32) int {
	return cmp.Or(int(min(math.Ceil(float64(perSecond)), jobs.MaxRate)), jobs.DefaultRate)
}

// admit refuses a batch operation if the namespace has as many as may run at once. Requests that arrive together may exceed the limit by their
// number.
func (s *Service) admit(ctx context.Context, namespace string) error {
	running, err := s.config.Jobs.CountRunning(ctx, namespace, kindPrefix)
	if err != nil {
		return err
	}
	if running >= maxActive {
		return &serviceerror.ResourceExhausted{
			Cause: enums.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, Scope: enums.RESOURCE_EXHAUSTED_SCOPE_NAMESPACE,
			Message: fmt.Sprintf("Max concurrent batch operations is reached: %d run", running),
		}
	}
	return nil
}

// parametersOf decodes the parameters of a job.
func parametersOf(job *jobs.Job) (of parameters, err error) {
	if err := json.Unmarshal(job.Parameters, &of); err != nil {
		return of, schedule.Errorf(schedule.CodeInternal, "the parameters of the batch operation cannot be read: %v", err)
	}
	return of, nil
}

// requestOf decodes the request of a job.
func requestOf(job *jobs.Job) (*workflowservice.StartBatchOperationRequest, parameters, error) {
	of, err := parametersOf(job)
	if err != nil {
		return nil, of, err
	}
	r := &workflowservice.StartBatchOperationRequest{}
	if err := proto.Unmarshal(of.Request, r); err != nil {
		return nil, of, schedule.Errorf(schedule.CodeInternal, "the request of the batch operation cannot be read: %v", err)
	}
	return r, of, nil
}
