package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The kind of a job that is a bulk operation begins with bulkKind, or with queryKind if the job needs a search index, which not every
// frontend has. The operation follows.
const (
	bulkKind  = "bulk."
	queryKind = bulkKind + "query."
)

// Start stores a job, which a frontend begins at once. For a dry run it only says which schedules the operation would reach.
func (s *Service) Start(
	ctx context.Context, namespace string, req *schedule.StartBulkRequest,
) (schedule.StartBulkReply, error) {
	id := newID(namespace, cmp.Or(req.RequestID, s.config.NewID()))
	if req.RequestID != "" && !req.DryRun {
		job, err := s.config.Jobs.Get(ctx, namespace, id)
		if !errors.Is(err, jobs.ErrNone) {
			return schedule.StartBulkReply{JobID: id, Count: job.Total}, err
		}
	}
	count, first, err := s.preview(ctx, namespace, &req.Selection)
	if err != nil {
		return schedule.StartBulkReply{}, err
	}
	if req.DryRun {
		return schedule.StartBulkReply{Count: count, IDs: first}, nil
	}
	if err := s.admit(ctx, namespace); err != nil {
		return schedule.StartBulkReply{}, err
	}
	job, err := newJob(namespace, id, req, count, request.OriginOf(ctx, s.config.Now(), req.RequestID))
	if err != nil {
		return schedule.StartBulkReply{}, err
	}
	// If the job exists already, a repeat of this request was faster.
	_, err = s.config.Jobs.Create(ctx, job)
	return schedule.StartBulkReply{JobID: id, Count: count}, err
}

// newID names the bulk operation that a request starts.
func newID(namespace, requestID string) string {
	return request.DerivedID("bulk/" + namespace + "/" + requestID)
}

func newJob(namespace, id string, req *schedule.StartBulkRequest, total int, from request.Origin) (jobs.Job, error) {
	task := req.BulkTask
	task.IDs = slices.Compact(slices.Sorted(slices.Values(task.IDs)))
	parameters, err := json.Marshal(task)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("encode a bulk operation: %w", err)
	}
	kind := bulkKind
	if task.Query != "" {
		kind = queryKind
	}
	return jobs.Job{
		Namespace: namespace, ID: id, Kind: kind + string(task.Operation), Parameters: parameters,
		Identity: from.Identity, CreateTime: from.Now, Rate: cmp.Or(req.Rate, schedule.DefaultBulkRate), Total: total,
	}, nil
}

// admit refuses a bulk operation if the namespace has as many as may run at once. Requests that arrive together may exceed the limit by
// their number.
func (s *Service) admit(ctx context.Context, namespace string) error {
	running, err := s.config.Jobs.CountRunning(ctx, namespace, bulkKind)
	if err != nil {
		return err
	}
	if running >= schedule.MaxActiveBulk {
		return schedule.Errorf(schedule.CodeResourceExhausted,
			"namespace %q has %d bulk operations running, and %d is the most: wait until one has ended, or cancel one",
			namespace, running, schedule.MaxActiveBulk)
	}
	return nil
}

func isBulk(job *jobs.Job) bool { return strings.HasPrefix(job.Kind, bulkKind) }

// Describe returns a bulk operation, and how far it has come.
func (s *Service) Describe(
	ctx context.Context, namespace string, req *schedule.BulkRequest,
) (schedule.BulkDescription, error) {
	job, err := s.job(ctx, namespace, req.JobID)
	if err != nil {
		return schedule.BulkDescription{}, err
	}
	return describe(&job)
}

// job reads a job that is a bulk operation.
func (s *Service) job(ctx context.Context, namespace, id string) (jobs.Job, error) {
	if !isID(id) {
		return jobs.Job{}, errNone(namespace, id)
	}
	job, err := s.config.Jobs.Get(ctx, namespace, id)
	if errors.Is(err, jobs.ErrNone) || err == nil && !isBulk(&job) {
		return jobs.Job{}, errNone(namespace, id)
	}
	return job, err
}

// isID reports whether a text is the ID of a job. Other texts must not become part of a subject.
func isID(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.String() == id
}

func errNone(namespace, id string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "jobId",
		Message: fmt.Sprintf("namespace %q has no bulk operation %q; those that have ended are kept for %d days",
			namespace, id, int(jobs.Retention/(24*time.Hour))),
	}
}

// Cancel ends a bulk operation. What it has done stays done. To cancel a canceled operation is no error.
func (s *Service) Cancel(
	ctx context.Context, namespace string, req *schedule.BulkRequest,
) (schedule.BulkDescription, error) {
	if _, err := s.job(ctx, namespace, req.JobID); err != nil {
		return schedule.BulkDescription{}, err
	}
	from := request.OriginOf(ctx, s.config.Now(), "")
	job, err := s.config.Jobs.Cancel(ctx, namespace, req.JobID, from.Identity, from.Now)
	switch {
	case errors.Is(err, jobs.ErrNone):
		return schedule.BulkDescription{}, errNone(namespace, req.JobID)
	case errors.Is(err, jobs.ErrEnded) && job.Status != jobs.Canceled: // to cancel what is canceled is no error
		return schedule.BulkDescription{}, schedule.Errorf(schedule.CodeFailedPrecondition,
			"the bulk operation %q is over: it is %s", req.JobID, job.Status)
	case err != nil && !errors.Is(err, jobs.ErrEnded):
		return schedule.BulkDescription{}, err
	}
	return describe(&job)
}

// List returns one page of the bulk operations of a namespace, the newest first.
func (s *Service) List(
	ctx context.Context, namespace string, req *schedule.ListBulkRequest,
) (schedule.ListBulkReply, error) {
	after, err := listing.DecodePageToken(req.PageToken)
	if err != nil {
		return schedule.ListBulkReply{}, err
	}
	all, err := s.config.Jobs.ListKind(ctx, namespace, bulkKind)
	if err != nil {
		return schedule.ListBulkReply{}, err
	}
	page, next := jobs.Page(all, after, cmp.Or(req.PageSize, listing.DefaultPageSize))
	reply := schedule.ListBulkReply{Operations: []schedule.BulkDescription{}}
	if next != "" {
		reply.NextPageToken = listing.EncodePageToken(next)
	}
	for i := range page {
		described, err := describe(&page[i])
		if err != nil {
			return schedule.ListBulkReply{}, err
		}
		described.Failures, described.IDs = nil, nil
		reply.Operations = append(reply.Operations, described)
	}
	return reply, nil
}

// describe returns what users see of the record of a job.
func describe(job *jobs.Job) (schedule.BulkDescription, error) {
	described := schedule.BulkDescription{
		JobID: job.ID, Rate: job.Rate, Identity: job.Identity, CreateTime: job.CreateTime,
		StartTime: job.StartTime, EndTime: job.EndTime, Status: schedule.BulkStatus(job.Status), Total: job.Total,
		Done: job.Done, Skipped: job.Skipped, Failed: job.Failed, Cursor: job.Cursor,
		CanceledBy: job.CanceledBy, Error: job.Error,
	}
	for _, failure := range job.Failures {
		described.Failures = append(described.Failures, schedule.BulkFailure(failure))
	}
	task, err := taskOf(job)
	described.BulkTask = task
	return described, err
}

// taskOf decodes the parameters of a job.
func taskOf(job *jobs.Job) (task schedule.BulkTask, err error) {
	if err := json.Unmarshal(job.Parameters, &task); err != nil {
		return task, schedule.Errorf(schedule.CodeInternal, "the parameters of the operation cannot be read: %v", err)
	}
	return task, nil
}
