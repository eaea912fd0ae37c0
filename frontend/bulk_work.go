package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// bulkWork does bulk operations. To each schedule it does what the request for that one would, in the name of who has started
// the operation, with the ID of the job as the request ID: done twice, it is done once.
type bulkWork struct{ api *api }

// queryAhead is how many schedules of a query are looked up at least at once.
const queryAhead = 10

// Next returns the schedules that are selected at that time. By a query those are about as many as a second takes: what
// matters is whether a schedule matches when it is its turn.
func (w bulkWork) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	task, err := bulkTask(job)
	if err != nil {
		return nil, err
	}
	if task.Query != "" {
		limit = min(limit, max(job.Rate, queryAhead))
	}
	return w.api.selected(ctx, job.Namespace, &task.Selection, after, limit)
}

// Do does the operation to one schedule.
func (w bulkWork) Do(ctx context.Context, job *jobs.Job, id string) (jobs.Outcome, error) {
	task, err := bulkTask(job)
	if err != nil {
		return jobs.Outcome{}, err
	}
	key := schedule.Key{Namespace: job.Namespace, ID: id}
	if slices.Contains(job.Page, id) { // begun by another, however long ago: request IDs are not remembered for ever
		if done, err := w.isTold(ctx, job, &task, key); done || err != nil {
			return jobs.Outcome{}, err
		}
	}
	outcome, err := w.operate(request.WithIdentity(ctx, job.Identity), job, &task, id)
	if err == nil {
		return outcome, nil
	}
	failure, told := forCaller(err)
	if !told {
		w.api.logFor(key).WarnContext(ctx, "a bulk operation cannot be done, or not yet", "job_id", job.ID, "error", err)
	}
	if failure.Code == schedule.CodeNotFound {
		return w.missing(ctx, job, &task, key)
	}
	return jobs.Outcome{}, failure
}

func (w bulkWork) operate(ctx context.Context, job *jobs.Job, task *schedule.BulkTask, id string) (jobs.Outcome, error) {
	switch note := (schedule.NoteRequest{ID: id, Note: task.Note, RequestID: job.ID}); task.Operation {
	case schedule.BulkPause:
		_, err := w.api.pause(ctx, job.Namespace, &note)
		return jobs.Outcome{}, err
	case schedule.BulkUnpause:
		_, err := w.api.unpause(ctx, job.Namespace, &note)
		return jobs.Outcome{}, err
	case schedule.BulkTrigger:
		_, err := w.api.trigger(ctx, job.Namespace, &schedule.TriggerRequest{
			ID: id, RequestID: job.ID, Trigger: schedule.Trigger{Overlap: task.Overlap, Note: task.Note},
		})
		return jobs.Outcome{}, err
	case schedule.BulkDelete:
		_, err := w.api.delete(ctx, job.Namespace, &schedule.DeleteRequest{ID: id, Runs: task.Runs, RequestID: job.ID})
		return jobs.Outcome{}, err
	case schedule.BulkSetLabel:
		return w.api.setLabel(ctx, schedule.Key{Namespace: job.Namespace, ID: id}, job.ID, task.Label)
	}
	return jobs.Outcome{}, schedule.Invalid("operation", "%q is not known to this frontend", task.Operation)
}

// missing says what it means that a schedule does not exist. One that was named should; one that was found may have gone since,
// and one that was to be deleted may have been by an earlier attempt.
func (w bulkWork) missing(
	ctx context.Context, job *jobs.Job, task *schedule.BulkTask, key schedule.Key,
) (jobs.Outcome, error) {
	if task.Operation == schedule.BulkDelete {
		begun := slices.Contains(job.Page, key.ID) // by another runner, which may have died before it could tell
		if done, err := w.isTold(ctx, job, task, key); begun || done || err != nil {
			return jobs.Outcome{}, err
		}
	}
	if len(task.IDs) > 0 {
		return jobs.Outcome{Result: jobs.ItemFailed, Reason: "there is no such schedule"}, nil
	}
	return jobs.Outcome{Result: jobs.ItemSkipped, Reason: "it is gone"}, nil
}

// bulkEvents are the kinds of event that tell that an operation was done.
var bulkEvents = map[schedule.BulkOperation]schedule.EventKind{
	schedule.BulkPause: schedule.EventPaused, schedule.BulkUnpause: schedule.EventUnpaused,
	schedule.BulkTrigger: schedule.EventTriggered, schedule.BulkDelete: schedule.EventDeleted,
	schedule.BulkSetLabel: schedule.EventUpdated,
}

// isTold reports whether the history of a schedule tells that the job has done its operation, and nobody the same since.
func (w bulkWork) isTold(ctx context.Context, job *jobs.Job, task *schedule.BulkTask, key schedule.Key) (bool, error) {
	subject := w.api.names.Event(key, bulkEvents[task.Operation])
	last, err := w.api.bus.Last(ctx, w.api.names.EventStream(), subject)
	if errors.Is(err, bus.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var event schedule.Event
	if err := json.Unmarshal(last.Data, &event); err != nil {
		return false, fmt.Errorf("decode the last event of %s: %w", key, err)
	}
	return event.RequestID == job.ID, nil
}

// Report tells of a failure in the history of the schedule, which is also where the whole report of the operation is.
func (w bulkWork) Report(ctx context.Context, job *jobs.Job, failure jobs.Failure) error {
	task, err := bulkTask(job)
	if err != nil {
		return err
	}
	return w.api.events.Publish(ctx, schedule.Event{
		ID:   job.ID + "-" + string(schedule.EventBulkFailed) + "-" + subjects.Escape(failure.ID),
		Time: w.api.now().UTC(), Namespace: job.Namespace, ScheduleID: failure.ID, Kind: schedule.EventBulkFailed,
		RequestID: job.ID, Identity: job.Identity,
		Reason: string(task.Operation) + ": " + failure.Reason,
	})
}
