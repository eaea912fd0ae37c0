package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// kindRemoval are the background jobs that remove a namespace.
	kindRemoval = "namespace-removal"
	// removalRate is how many schedules one of them deletes in a second.
	removalRate = 200
	// removalBegin is how long a job may be older than the mark in the record of its namespace.
	removalBegin = time.Minute
	// lastItem stands for the namespace itself, when its schedules are gone. It is not the ID of any.
	lastItem = "\U0010FFFF\x00"
)

// errNotYet says that a removal cannot go on yet.
var errNotYet = errors.New("frontend: not yet")

// deleteNamespace marks a namespace as one that goes, and leaves the rest to a background job. The job is there before the
// mark, so that none is forgotten; without the mark it does nothing.
func (a *api) deleteNamespace(
	ctx context.Context, name string, req *schedule.DeleteNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	current, err := a.namespaces.newest(ctx, name)
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	if name == namespaces.Default {
		return schedule.NamespaceDescription{}, schedule.Errorf(schedule.CodeFailedPrecondition,
			"the namespace %q cannot be deleted: every installation has it", name)
	}
	keys, err := a.keys.Of(ctx, name)
	if err == nil {
		keys, err = a.withoutDeleted(ctx, keys)
	}
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	if len(keys) > 0 && !req.Force && !current.Deleting {
		return schedule.NamespaceDescription{}, errNotEmpty(name, len(keys))
	}
	job, err := a.startRemoval(ctx, name, req.Runs, len(keys))
	if err != nil || current.Deleting {
		return describeNamespace(&current.Namespace, a.now()), err
	}
	d, err := a.changeNamespace(ctx, name, namespaceChange{
		what: "namespace marked for deletion", requestID: req.RequestID, token: req.ConflictToken,
		edit: func(next *schedule.Namespace, _ request.Origin) error {
			next.Deleting = true
			return nil
		},
	})
	if schedule.CodeOf(err) == schedule.CodeFailedPrecondition {
		a.cancelJob(ctx, name, job)
	}
	return d, err
}

// withoutDeleted returns a list of schedules from the first on that is there by the word of the leader. Whoever has made the list may
// not have heard yet that a schedule was deleted.
func (a *api) withoutDeleted(ctx context.Context, keys []schedule.Key) ([]schedule.Key, error) {
	for i, key := range keys {
		_, err := a.newestDefinition(ctx, key)
		if schedule.CodeOf(err) == schedule.CodeNotFound {
			continue
		}
		if errors.Is(err, kv.ErrCorrupt) {
			err = nil // it is there
		}
		return keys[i:], err
	}
	return nil, nil
}

// startRemoval sees to it that there is a job which removes a namespace, and returns its ID.
func (a *api) startRemoval(
	ctx context.Context, name string, runs schedule.RunsPolicy, schedules int,
) (string, error) {
	all, err := a.jobs.List(ctx, name)
	if err != nil {
		return "", err
	}
	for i := range all {
		if all[i].Kind == kindRemoval && !all[i].Ended() {
			return all[i].ID, nil
		}
	}
	parameters, err := json.Marshal(removalTask{Runs: runs})
	if err != nil {
		return "", err
	}
	job := jobs.Job{
		Parameters: parameters,
		Namespace:  name, ID: a.newID(), Kind: kindRemoval, Identity: request.IdentityOf(ctx), CreateTime: a.now(),
		Rate: removalRate, Total: schedules,
	}
	_, err = a.jobs.Create(ctx, job)
	return job.ID, err
}

func (a *api) cancelJob(ctx context.Context, namespace, id string) {
	_, err := a.jobs.Cancel(ctx, namespace, id, request.IdentityOf(ctx), a.now())
	if err != nil && !errors.Is(err, jobs.ErrEnded) && !errors.Is(err, jobs.ErrNone) {
		a.log.WarnContext(ctx, "background job not canceled", "namespace", namespace, "job_id", id, "error", err)
	}
}

// removal is the work of removing a namespace: each of its schedules, and at last what else there is of it.
type removal struct {
	api *api
	// settle is how long after its mark a namespace may still get schedules: as long as a request takes.
	settle time.Duration
}

// Next lists the schedules that are left.
func (r *removal) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	if after == lastItem {
		return nil, nil
	}
	record, err := r.api.namespaces.newest(ctx, job.Namespace)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !record.Deleting && r.api.now().Sub(job.CreateTime) < removalBegin:
		return nil, errNotYet
	case !record.Deleting:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the namespace is not to be deleted after all")
	}
	keys, err := r.api.keys.Of(ctx, job.Namespace)
	if err != nil {
		return nil, err
	}
	if ids := listing.IDs(keys, "", after, limit); len(ids) > 0 {
		return ids, nil
	}
	return []string{lastItem}, nil
}

// Do deletes one schedule, or the namespace itself.
func (r *removal) Do(ctx context.Context, job *jobs.Job, id string) (jobs.Outcome, error) {
	ctx = request.WithIdentity(ctx, job.Identity)
	if id == lastItem {
		return jobs.Outcome{}, r.finish(ctx, job)
	}
	return r.delete(ctx, job, id, job.ID)
}

func (r *removal) delete(ctx context.Context, job *jobs.Job, id, requestID string) (jobs.Outcome, error) {
	runs, err := removalRuns(job)
	if err != nil {
		return jobs.Outcome{}, err
	}
	_, err = r.api.delete(ctx, job.Namespace, &schedule.DeleteRequest{ID: id, Runs: runs, RequestID: requestID})
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return jobs.Outcome{Result: jobs.ItemSkipped}, nil
	}
	return jobs.Outcome{}, err
}

// finish waits until no request can still be creating a schedule, deletes those that have come since the others were, and
// removes what else there is of the namespace, its record last: until that is gone, all can be done again.
func (r *removal) finish(ctx context.Context, job *jobs.Job) error {
	record, err := r.api.namespaces.newest(ctx, job.Namespace)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if sleep.For(ctx, record.UpdateTime.Add(r.settle).Sub(r.api.now())) != nil {
		return errNotYet
	}
	keys, err := r.api.keys.Of(ctx, job.Namespace)
	if err != nil {
		return err
	}
	for _, key := range keys {
		// Under the ID of the job this would be a repeat where the job has deleted one of that ID, and spare the new one.
		if _, err := r.delete(ctx, job, key.ID, ""); err != nil {
			return err
		}
	}
	runs, err := removalRuns(job)
	if err != nil {
		return err
	}
	if err := r.api.clearRuns(ctx, job.Namespace, runs); err != nil {
		return err
	}
	if err := r.api.removeBelongings(ctx, job); err != nil {
		return err
	}
	if err := r.api.namespaces.records.Delete(ctx, job.Namespace, record.Revision); err != nil {
		return err
	}
	r.api.acts.InfoContext(ctx, "namespace deleted", "namespace", job.Namespace, "identity", job.Identity)
	return nil
}

// removeBelongings removes what a namespace has beside schedules: its other jobs, what was written down about its limits,
// and its calendars.
func (a *api) removeBelongings(ctx context.Context, removal *jobs.Job) error {
	others, err := a.jobs.List(ctx, removal.Namespace)
	if err != nil {
		return err
	}
	for i := range others {
		if !others[i].Ended() && others[i].ID != removal.ID {
			a.cancelJob(ctx, removal.Namespace, others[i].ID)
		}
	}
	rate, err := kv.OrZero(kv.GetLeader(ctx, a.store, kv.StartRate(removal.Namespace)))
	if err == nil && rate.Revision > 0 {
		err = kv.Delete(ctx, a.store, kv.StartRate(removal.Namespace), rate.Revision)
	}
	if err != nil {
		return err
	}
	if err := a.removeMatching(ctx, subjects.CalendarKeys(removal.Namespace)); err != nil {
		return err
	}
	return a.places.Forget(ctx, removal.Namespace)
}

// removeMatching removes the records of the cluster bucket whose keys match a filter.
func (a *api) removeMatching(ctx context.Context, filter string) error {
	keys, err := a.cluster.Keys(ctx, filter)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := a.cluster.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
