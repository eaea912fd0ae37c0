package bulk

import (
	"context"
	"slices"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// work does bulk operations. To each schedule it does what the request for that schedule would do, in the name of whoever has started the
// operation. The ID of the job is the request ID, so that an operation done twice takes effect once.
type work struct{ *Service }

// queryAhead is the least number of schedules that one query looks up.
const queryAhead = 10

// Next implements jobs.Work. It returns the schedules that are selected now. A query gives about as many as the job deals with in a second,
// because a schedule must match when its turn comes.
func (w work) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	task, err := taskOf(job)
	if err != nil {
		return nil, err
	}
	if task.Query != "" {
		limit = min(limit, max(job.Rate, queryAhead))
	}
	return w.selected(ctx, job.Namespace, &task.Selection, after, limit)
}

// Do implements jobs.Work. It does the operation to one schedule.
func (w work) Do(ctx context.Context, job *jobs.Job, id string) (jobs.ItemResult, error) {
	task, err := taskOf(job)
	if err != nil {
		return jobs.ItemResult{}, err
	}
	key := schedule.Key{Namespace: job.Namespace, ID: id}
	if slices.Contains(job.Page, id) { // another runner has begun it, perhaps so long ago that the request ID is forgotten
		if done, err := w.isTold(ctx, job, &task, key); done || err != nil {
			return jobs.ItemResult{}, err
		}
	}
	outcome, err := w.operate(request.WithIdentity(ctx, job.Identity), job, &task, id)
	if err == nil {
		return outcome, nil
	}
	failure, told := request.ForCaller(err)
	if !told {
		w.config.Logger.WarnContext(ctx, "a bulk operation cannot be done, or not yet", "namespace", key.Namespace,
			"schedule_id", key.ID, "job_id", job.ID, "error", err)
	}
	if failure.Code == schedule.CodeNotFound {
		return w.missing(ctx, job, &task, key)
	}
	return jobs.ItemResult{}, failure
}

func (w work) operate(ctx context.Context, job *jobs.Job, task *schedule.BulkTask, id string) (jobs.ItemResult, error) {
	operate, known := w.config.Operations[task.Operation]
	if !known {
		return jobs.ItemResult{}, schedule.Invalid("operation", "%q is not known to this frontend", task.Operation)
	}
	return operate(ctx, schedule.Key{Namespace: job.Namespace, ID: id}, job.ID, task)
}

// missing returns what it means for the job that a schedule does not exist:
//
//   - A schedule that was to be deleted may have been deleted by an earlier attempt. Then the operation is done.
//   - A schedule that the user named should exist. The operation has failed.
//   - A schedule that was found may have been deleted since. It is skipped.
func (w work) missing(
	ctx context.Context, job *jobs.Job, task *schedule.BulkTask, key schedule.Key,
) (jobs.ItemResult, error) {
	if task.Operation == schedule.BulkDelete {
		begun := slices.Contains(job.Page, key.ID) // by another runner, which may have died before it could tell
		if done, err := w.isTold(ctx, job, task, key); begun || done || err != nil {
			return jobs.ItemResult{}, err
		}
	}
	if len(task.IDs) > 0 {
		return jobs.ItemResult{Result: jobs.ItemFailed, Reason: "there is no such schedule"}, nil
	}
	return jobs.ItemResult{Result: jobs.ItemSkipped, Reason: "it is gone"}, nil
}

// tellingEvents are the kinds of the events by which the history says that an operation was done.
var tellingEvents = map[schedule.BulkOperation]schedule.EventKind{
	schedule.BulkPause: schedule.EventPaused, schedule.BulkUnpause: schedule.EventUnpaused,
	schedule.BulkTrigger: schedule.EventTriggered, schedule.BulkDelete: schedule.EventDeleted,
	schedule.BulkSetLabel: schedule.EventUpdated,
}

// isTold reports whether the history of a schedule says that the job has done its operation, and that nobody has done the same since.
func (w work) isTold(ctx context.Context, job *jobs.Job, task *schedule.BulkTask, key schedule.Key) (bool, error) {
	return w.config.Events.IsLastOf(ctx, key, tellingEvents[task.Operation], job.ID)
}

// Report implements jobs.Work. It writes a failure into the history of the schedule. The history of all schedules is the full report of the
// operation.
func (w work) Report(ctx context.Context, job *jobs.Job, failure jobs.Failure) error {
	task, err := taskOf(job)
	if err != nil {
		return err
	}
	return w.config.Events.Publish(ctx, schedule.Event{
		ID:   job.ID + "-" + string(schedule.EventBulkFailed) + "-" + subjects.Escape(failure.ID),
		Time: w.config.Now().UTC(), Namespace: job.Namespace, ScheduleID: failure.ID, Kind: schedule.EventBulkFailed,
		RequestID: job.ID, Identity: job.Identity,
		Reason: string(task.Operation) + ": " + failure.Reason,
	})
}
