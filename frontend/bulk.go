package frontend

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

// bulkKind begins the kinds of the jobs that are bulk operations, queryKind those that need a search index, which not every
// frontend may have. The operation follows.
const (
	bulkKind  = "bulk."
	queryKind = bulkKind + "query."
)

// startBulk stores a job, which a frontend takes up at once, or for a dry run only says what would be dealt with.
func (a *api) startBulk(
	ctx context.Context, namespace string, req *schedule.StartBulkRequest,
) (schedule.StartBulkReply, error) {
	id := bulkID(namespace, cmp.Or(req.RequestID, a.newID()))
	if req.RequestID != "" && !req.DryRun {
		job, err := a.jobs.Get(ctx, namespace, id)
		if !errors.Is(err, jobs.ErrNone) {
			return schedule.StartBulkReply{JobID: id, Count: job.Total}, err
		}
	}
	count, first, err := a.previewSelection(ctx, namespace, &req.Selection)
	if err != nil {
		return schedule.StartBulkReply{}, err
	}
	if req.DryRun {
		return schedule.StartBulkReply{Count: count, IDs: first}, nil
	}
	if err := a.admitBulk(ctx, namespace); err != nil {
		return schedule.StartBulkReply{}, err
	}
	job, err := newBulk(namespace, id, req, count, a.origin(ctx, req.RequestID))
	if err != nil {
		return schedule.StartBulkReply{}, err
	}
	// One that is there already is that of a repeat, which was faster.
	_, err = a.jobs.Create(ctx, job)
	return schedule.StartBulkReply{JobID: id, Count: count}, err
}

// bulkID names the bulk operation that a request starts.
func bulkID(namespace, requestID string) string {
	return uuid.NewSHA1(requestSpace, []byte("bulk/"+namespace+"/"+requestID)).String()
}

func newBulk(namespace, id string, req *schedule.StartBulkRequest, total int, from request.Origin) (jobs.Job, error) {
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

// admitBulk refuses one bulk operation too many. Requests that arrive together may pass the limit by their number.
func (a *api) admitBulk(ctx context.Context, namespace string) error {
	all, err := a.bulkJobs(ctx, namespace)
	if err != nil {
		return err
	}
	running := 0
	for i := range all {
		if !all[i].Ended() {
			running++
		}
	}
	if running >= schedule.MaxActiveBulk {
		return schedule.Errorf(schedule.CodeResourceExhausted,
			"namespace %q has %d bulk operations running, and %d is the most: wait until one has ended, or cancel one",
			namespace, running, schedule.MaxActiveBulk)
	}
	return nil
}

// bulkJobs returns the bulk operations of a namespace, the newest first.
func (a *api) bulkJobs(ctx context.Context, namespace string) ([]jobs.Job, error) {
	all, err := a.jobs.List(ctx, namespace)
	return slices.DeleteFunc(all, func(job jobs.Job) bool { return !isBulk(&job) }), err
}

func isBulk(job *jobs.Job) bool { return strings.HasPrefix(job.Kind, bulkKind) }

func (a *api) describeBulk(
	ctx context.Context, namespace string, req *schedule.BulkRequest,
) (schedule.BulkDescription, error) {
	job, err := a.bulkJob(ctx, namespace, req.JobID)
	if err != nil {
		return schedule.BulkDescription{}, err
	}
	return describeBulk(&job)
}

// bulkJob reads a job that is a bulk operation.
func (a *api) bulkJob(ctx context.Context, namespace, id string) (jobs.Job, error) {
	if !isBulkID(id) {
		return jobs.Job{}, errNoBulk(namespace, id)
	}
	job, err := a.jobs.Get(ctx, namespace, id)
	if errors.Is(err, jobs.ErrNone) || err == nil && !isBulk(&job) {
		return jobs.Job{}, errNoBulk(namespace, id)
	}
	return job, err
}

// isBulkID keeps out of subjects what is no ID of a job.
func isBulkID(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.String() == id
}

func errNoBulk(namespace, id string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "jobId",
		Message: fmt.Sprintf("namespace %q has no bulk operation %q; those that have ended are kept for %d days",
			namespace, id, int(jobs.Retention/(24*time.Hour))),
	}
}

func (a *api) cancelBulk(
	ctx context.Context, namespace string, req *schedule.BulkRequest,
) (schedule.BulkDescription, error) {
	if _, err := a.bulkJob(ctx, namespace, req.JobID); err != nil {
		return schedule.BulkDescription{}, err
	}
	from := a.origin(ctx, "")
	job, err := a.jobs.Cancel(ctx, namespace, req.JobID, from.Identity, from.Now)
	switch {
	case errors.Is(err, jobs.ErrNone):
		return schedule.BulkDescription{}, errNoBulk(namespace, req.JobID)
	case errors.Is(err, jobs.ErrEnded) && job.Status != jobs.Canceled: // to cancel what is canceled is no error
		return schedule.BulkDescription{}, schedule.Errorf(schedule.CodeFailedPrecondition,
			"the bulk operation %q is over: it is %s", req.JobID, job.Status)
	case err != nil && !errors.Is(err, jobs.ErrEnded):
		return schedule.BulkDescription{}, err
	}
	return describeBulk(&job)
}

// listBulk reads one page. A page begins after an operation and not at a number, so that new ones neither repeat nor hide
// others.
func (a *api) listBulk(
	ctx context.Context, namespace string, req *schedule.ListBulkRequest,
) (schedule.ListBulkReply, error) {
	after, err := listing.DecodePageToken(req.PageToken)
	if err != nil {
		return schedule.ListBulkReply{}, err
	}
	all, err := a.bulkJobs(ctx, namespace)
	if err != nil {
		return schedule.ListBulkReply{}, err
	}
	reply := schedule.ListBulkReply{Operations: []schedule.BulkDescription{}}
	size := cmp.Or(req.PageSize, listing.DefaultPageSize)
	for i := range all {
		if after != "" && listPosition(&all[i]) >= after {
			continue
		}
		if len(reply.Operations) == size {
			reply.NextPageToken = listing.EncodePageToken(listPosition(&all[i-1]))
			break
		}
		described, err := describeBulk(&all[i])
		if err != nil {
			return schedule.ListBulkReply{}, err
		}
		described.Failures, described.IDs = nil, nil
		reply.Operations = append(reply.Operations, described)
	}
	return reply, nil
}

// listPosition orders jobs as a list does, the newest with the greatest.
func listPosition(job *jobs.Job) string {
	return fmt.Sprintf("%020d %s", job.CreateTime.UnixNano(), job.ID)
}

// describeBulk says what the record of a job does.
func describeBulk(job *jobs.Job) (schedule.BulkDescription, error) {
	described := schedule.BulkDescription{
		JobID: job.ID, Rate: job.Rate, Identity: job.Identity, CreateTime: job.CreateTime,
		StartTime: job.StartTime, EndTime: job.EndTime, Status: schedule.BulkStatus(job.Status), Total: job.Total,
		Done: job.Done, Skipped: job.Skipped, Failed: job.Failed, Cursor: job.Cursor,
		CanceledBy: job.CanceledBy, Error: job.Error,
	}
	for _, failure := range job.Failures {
		described.Failures = append(described.Failures, schedule.BulkFailure(failure))
	}
	task, err := bulkTask(job)
	described.BulkTask = task
	return described, err
}

// bulkTask reads the parameters of a job.
func bulkTask(job *jobs.Job) (task schedule.BulkTask, err error) {
	if err := json.Unmarshal(job.Parameters, &task); err != nil {
		return task, schedule.Errorf(schedule.CodeInternal, "the parameters of the operation cannot be read: %v", err)
	}
	return task, nil
}
