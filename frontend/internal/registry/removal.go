package registry

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
	// KindRemoval is the kind of the background jobs that remove a namespace.
	KindRemoval = "namespace-removal"
	// removalRate is how many schedules such a job deletes in a second.
	removalRate = 200
	// removalBegin is how much older a job may be than the mark in the record of its namespace.
	removalBegin = time.Minute
	// lastItem stands for the namespace itself, whose turn comes after its schedules. No schedule can have it as its ID.
	lastItem = "\U0010FFFF\x00"
)

// errNotYet says that a removal cannot go on yet.
var errNotYet = errors.New("registry: not yet")

// Delete marks a namespace as being deleted and leaves the rest to a background job. The job is created before the mark is written, so that
// no mark is without a job. A job whose mark never comes does nothing.
func (s *Service) Delete(
	ctx context.Context, name string, req *schedule.DeleteNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	current, err := s.newest(ctx, name)
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	if name == namespaces.Default {
		return schedule.NamespaceDescription{}, schedule.Errorf(schedule.CodeFailedPrecondition,
			"the namespace %q cannot be deleted: every installation has it", name)
	}
	keys, err := s.config.Keys.Of(ctx, name)
	if err == nil {
		keys, err = s.withoutDeleted(ctx, keys)
	}
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	if !req.Force && !current.Deleting {
		if err := s.refuseContents(ctx, name, len(keys)); err != nil {
			return schedule.NamespaceDescription{}, err
		}
	}
	job, err := s.startRemoval(ctx, name, req.Runs, len(keys))
	if err != nil || current.Deleting {
		return describe(&current.Namespace, s.config.Now()), err
	}
	d, err := s.write(ctx, name, change{
		what: "namespace marked for deletion", requestID: req.RequestID, token: req.ConflictToken,
		edit: func(next *schedule.Namespace, _ request.Origin) error {
			next.Deleting = true
			return nil
		},
	})
	if schedule.CodeOf(err) == schedule.CodeFailedPrecondition {
		s.cancelJob(ctx, name, job)
	}
	return d, err
}

// refuseContents refuses to delete a namespace that has schedules or executions.
func (s *Service) refuseContents(ctx context.Context, name string, schedules int) error {
	executions := 0
	for shard := range s.config.Store.Shards() {
		here, err := s.config.Bus.Subjects(ctx, s.config.Names.JournalStream(shard), s.config.Names.Journals(shard, name))
		if err != nil {
			return err
		}
		executions += here
	}
	if schedules+executions > 0 {
		return errNotEmpty(name, schedules, executions)
	}
	return nil
}

// withoutDeleted returns the schedules of a list from the first one on that exists by the word of the leader. The list may come from a
// server that has not heard yet that a schedule was deleted.
func (s *Service) withoutDeleted(ctx context.Context, keys []schedule.Key) ([]schedule.Key, error) {
	for i, key := range keys {
		if exists, err := s.config.Exists(ctx, key); exists || err != nil {
			return keys[i:], err
		}
	}
	return nil, nil
}

// startRemoval makes sure that there is a job that removes a namespace, and returns its ID.
func (s *Service) startRemoval(
	ctx context.Context, name string, runs schedule.RunsPolicy, schedules int,
) (string, error) {
	all, err := s.config.Jobs.List(ctx, name)
	if err != nil {
		return "", err
	}
	for i := range all {
		if all[i].Kind == KindRemoval && !all[i].Ended() {
			return all[i].ID, nil
		}
	}
	parameters, err := json.Marshal(removalTask{Runs: runs})
	if err != nil {
		return "", err
	}
	job := jobs.Job{
		Parameters: parameters,
		Namespace:  name, ID: s.config.NewID(), Kind: KindRemoval, Identity: request.IdentityOf(ctx), CreateTime: s.config.Now(),
		Rate: removalRate, Total: schedules,
	}
	_, err = s.config.Jobs.Create(ctx, job)
	return job.ID, err
}

func (s *Service) cancelJob(ctx context.Context, namespace, id string) {
	_, err := s.config.Jobs.Cancel(ctx, namespace, id, request.IdentityOf(ctx), s.config.Now())
	if err != nil && !errors.Is(err, jobs.ErrEnded) && !errors.Is(err, jobs.ErrNone) {
		s.config.Logger.WarnContext(ctx, "background job not canceled", "namespace", namespace, "job_id", id, "error", err)
	}
}

// RemovalWork returns what the background jobs of [KindRemoval] do: they delete each schedule of a namespace, then everything else in it.
func (s *Service) RemovalWork() jobs.Work { return &removal{s} }

type removal struct{ *Service }

// Next implements [jobs.Work]. It lists the schedules that are left, and then the namespace itself.
func (r *removal) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	if after == lastItem {
		return nil, nil
	}
	record, err := r.newest(ctx, job.Namespace)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !record.Deleting && r.config.Now().Sub(job.CreateTime) < removalBegin:
		return nil, errNotYet
	case !record.Deleting:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the namespace is not to be deleted after all")
	}
	keys, err := r.config.Keys.Of(ctx, job.Namespace)
	if err != nil {
		return nil, err
	}
	if ids := listing.IDs(keys, "", after, limit); len(ids) > 0 {
		return ids, nil
	}
	return []string{lastItem}, nil
}

// Do implements [jobs.Work]. It deletes one schedule, or the namespace itself.
func (r *removal) Do(ctx context.Context, job *jobs.Job, id string) (jobs.ItemResult, error) {
	ctx = request.WithIdentity(ctx, job.Identity)
	if id == lastItem {
		return jobs.ItemResult{}, r.finish(ctx, job)
	}
	return r.delete(ctx, job, id, job.ID)
}

func (r *removal) delete(ctx context.Context, job *jobs.Job, id, requestID string) (jobs.ItemResult, error) {
	runs, err := removalRuns(job)
	if err != nil {
		return jobs.ItemResult{}, err
	}
	err = r.config.Delete(ctx, job.Namespace, &schedule.DeleteRequest{ID: id, Runs: runs, RequestID: requestID})
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return jobs.ItemResult{Result: jobs.ItemSkipped}, nil
	}
	return jobs.ItemResult{}, err
}

// finish removes the namespace itself:
//
//  1. It waits until no request can still create a schedule.
//  2. It deletes the schedules that were created since the others were deleted.
//  3. It removes everything else of the namespace, its record last. As long as the record is there, all of this can be done again.
func (r *removal) finish(ctx context.Context, job *jobs.Job) error {
	record, err := r.newest(ctx, job.Namespace)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if sleep.For(ctx, record.UpdateTime.Add(r.config.Settle).Sub(r.config.Now())) != nil {
		return errNotYet
	}
	keys, err := r.config.Keys.Of(ctx, job.Namespace)
	if err != nil {
		return err
	}
	for _, key := range keys {
		// With the ID of the job, this would count as a repeat if the job has deleted an earlier schedule of the same ID, and spare this one.
		if _, err := r.delete(ctx, job, key.ID, ""); err != nil {
			return err
		}
	}
	runs, err := removalRuns(job)
	if err != nil {
		return err
	}
	if err := r.clearRuns(ctx, job.Namespace, runs); err != nil {
		return err
	}
	if err := r.removeExecutions(ctx, job.Namespace); err != nil {
		return err
	}
	if err := r.removeBelongings(ctx, job); err != nil {
		return err
	}
	if err := r.records.Delete(ctx, job.Namespace, record.Revision); err != nil {
		return err
	}
	r.config.Acts.InfoContext(ctx, "namespace deleted", "namespace", job.Namespace, "identity", job.Identity)
	return nil
}

// removeExecutions removes all executions of a namespace. Those in progress end without a word: their workers are told that they do not exist.
func (s *Service) removeExecutions(ctx context.Context, namespace string) error {
	for _, of := range s.config.Names.ExecutionsOf(namespace, s.config.Store.Shards()) {
		if err := s.config.Bus.Purge(ctx, of.Stream, of.Subjects); err != nil {
			return err
		}
	}
	return nil
}

// removeBelongings removes what a namespace has beside schedules: its other jobs, the records about its limits, and its calendars.
func (s *Service) removeBelongings(ctx context.Context, removal *jobs.Job) error {
	others, err := s.config.Jobs.List(ctx, removal.Namespace)
	if err != nil {
		return err
	}
	for i := range others {
		if !others[i].Ended() && others[i].ID != removal.ID {
			s.cancelJob(ctx, removal.Namespace, others[i].ID)
		}
	}
	rate, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.StartRate(removal.Namespace)))
	if err == nil && rate.Revision > 0 {
		err = kv.Delete(ctx, s.config.Store, kv.StartRate(removal.Namespace), rate.Revision)
	}
	if err != nil {
		return err
	}
	for _, keys := range []string{subjects.CalendarKeys(removal.Namespace), subjects.ArchivedKeys(removal.Namespace)} {
		if err := s.removeMatching(ctx, keys); err != nil {
			return err
		}
	}
	if err := s.config.Cluster.Remove(ctx, subjects.SearchAttributesKey(removal.Namespace)); err != nil {
		return err
	}
	return s.places.Forget(ctx, removal.Namespace)
}

// removeMatching removes the records of the cluster bucket whose keys match a filter.
func (s *Service) removeMatching(ctx context.Context, filter string) error {
	keys, err := s.config.Cluster.Keys(ctx, filter)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.config.Cluster.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
