package calendars

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A change of a calendar reaches the schedules that use it by two jobs:
//
//   - The first job begins at once.
//   - The last job begins when everything that was under way at the moment of the change has been written, or never will be: the calendar
//     itself, and schedules whose requests still went by the old contents. The job is made before the calendar is written. So a frontend
//     that dies in between leaves nothing undone.
const (
	KindReplan = "replan"
	// replanRate is how many schedules a job brings up to date in a second: the frontends and pools have other work to do.
	replanRate = 200
	// replanBatch is how many definitions are looked at at once, replanLook for how long before somebody is told how far it has
	// come.
	replanBatch = 1000
	replanLook  = 20 * time.Second
)

func lastJob(edition string) string { return edition + "-last" }

// replanParameters are the parameters of both jobs.
type replanParameters struct {
	Calendar string `json:"calendar"`
	// Edition is that of the version of the calendar: another one has jobs of its own.
	Edition string `json:"edition"`
}

// replanJob returns one of the jobs of a version of a calendar.
func (s *Service) replanJob(namespace, id string, c *Calendar, notBefore time.Time) (jobs.Job, error) {
	parameters, err := json.Marshal(replanParameters{Calendar: c.Name, Edition: c.Edition})
	return jobs.Job{
		Namespace: namespace, ID: id, Kind: KindReplan, Parameters: parameters, Identity: c.Identity,
		CreateTime: s.config.Now().UTC(), NotBefore: notBefore, Rate: replanRate, Total: -1,
	}, err
}

// arrangeReplan makes the last job of a version that is about to be written. The job begins after two delays of a guard. A request takes
// less than one: the request that changes the calendar, and then one that has read the calendar just before.
func (s *Service) arrangeReplan(ctx context.Context, namespace string, c *Calendar) error {
	job, err := s.replanJob(namespace, lastJob(c.Edition), c, s.config.Now().UTC().Add(2*s.config.GuardDelay))
	if err == nil {
		_, err = s.config.Jobs.Create(ctx, job)
	}
	return err
}

// startReplan makes the first job of a version that has been written. If that fails, the last job does everything.
func (s *Service) startReplan(ctx context.Context, namespace string, c *Calendar) {
	job, err := s.replanJob(namespace, c.Edition, c, time.Time{})
	if err == nil {
		_, err = s.config.Jobs.Create(ctx, job)
	}
	if err != nil {
		s.config.Logger.WarnContext(ctx, "schedules will go by a calendar later than they could", "namespace", namespace,
			"calendar", c.Name, "error", err)
	}
}

// replanOf returns how far the jobs of a version of a calendar have come; nil if they are forgotten.
func (s *Service) replanOf(ctx context.Context, namespace, edition string) (*schedule.Replan, error) {
	last, err := s.config.Jobs.Get(ctx, namespace, lastJob(edition))
	if errors.Is(err, jobs.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := s.config.Jobs.Get(ctx, namespace, edition)
	if err != nil && !errors.Is(err, jobs.ErrNone) {
		return nil, err
	}
	replan := &schedule.Replan{Replanned: first.Done + last.Done, StartTime: last.CreateTime}
	if last.Ended() && first.Ended() { // the first may be behind: each finds done what the other does
		replan.Done, replan.EndTime = true, slices.MaxFunc([]time.Time{first.EndTime, last.EndTime}, time.Time.Compare)
	}
	// Whatever the first could not do, the last has tried again.
	failing := &first
	if last.Ended() {
		failing = &last
	}
	replan.Failed = failing.Failed
	for _, failure := range failing.Failures {
		replan.Failures = append(replan.Failures, schedule.ReplanFailure{ID: failure.ID, Reason: failure.Reason})
	}
	return replan, nil
}

// work is what the jobs do.
type work struct {
	*Service
	replan func(ctx context.Context, key schedule.Key, newest *Calendar) (changed bool, err error)
}

// Next implements jobs.Work. It returns schedules that use the calendar and do not go by its newest version. It sees every schedule that
// exists when it is called, even if a replica lags behind.
func (w work) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	newest, err := w.calendar(ctx, job)
	if newest == nil || err != nil {
		return nil, err
	}
	keys, err := w.config.Keys.Of(ctx, job.Namespace)
	if err != nil {
		return nil, err
	}
	now, err := kv.Now(ctx, w.config.Store)
	if err != nil {
		return nil, err
	}
	var ids []string
	for until := w.config.Now().Add(replanLook); len(ids) < limit; {
		some, more := listing.Keys(keys, "", after, replanBatch)
		if len(some) == 0 {
			break
		}
		definitions, err := w.definitions(ctx, now, some)
		if err != nil {
			return nil, err
		}
		for i := range definitions {
			if d := &definitions[i]; IsBehind(d, newest) && len(ids) < limit {
				ids = append(ids, d.ID)
			}
		}
		after = some[len(some)-1].ID
		if more && w.config.Now().After(until) {
			if len(ids) == 0 {
				return []string{after}, nil // of which there is nothing to do: the next question begins behind it
			}
			break
		}
	}
	return ids, nil
}

// calendar returns the calendar of a job. It returns nil if the calendar was deleted, or has another version, which has jobs of its own.
func (w work) calendar(ctx context.Context, job *jobs.Job) (*Calendar, error) {
	var p replanParameters
	if err := json.Unmarshal(job.Parameters, &p); err != nil {
		return nil, schedule.Errorf(schedule.CodeInternal, "the parameters of the job cannot be read: %v", err)
	}
	record, err := w.get(ctx, job.Namespace, p.Calendar)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case record.Value.Edition != p.Edition:
		return nil, nil
	}
	return &record.Value, nil
}

// IsBehind reports whether a definition goes by an older version of a calendar, or by an earlier calendar with the same name. The
// definition may also go by a newer version than newest, if another request has read the calendar a moment later.
func IsBehind(d *wire.Definition, newest *Calendar) bool {
	known := d.Calendars[newest.Name]
	newer := known.Incarnation == newest.Incarnation && known.Version > newest.Version
	return usesCalendar(d, newest.Name) && known.Edition != newest.Edition && !newer
}

// Do implements jobs.Work: it brings one schedule up to date.
func (w work) Do(ctx context.Context, job *jobs.Job, id string) (jobs.ItemResult, error) {
	newest, err := w.calendar(ctx, job)
	if err != nil {
		return jobs.ItemResult{}, err
	}
	if newest == nil {
		return jobs.ItemResult{Result: jobs.ItemSkipped, Reason: "the calendar has changed again, or is gone"}, nil
	}
	changed, err := w.replan(request.WithIdentity(ctx, job.Identity), schedule.Key{Namespace: job.Namespace, ID: id}, newest)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return jobs.ItemResult{Result: jobs.ItemSkipped, Reason: "the schedule is gone"}, nil
	case errors.Is(err, nats.ErrMaxPayload):
		return jobs.ItemResult{Result: jobs.ItemFailed, Reason: "with the calendar, the schedule is larger than NATS accepts"}, nil
	case errors.Is(err, kv.ErrCorrupt):
		return jobs.ItemResult{Result: jobs.ItemFailed, Reason: err.Error()}, nil
	case err != nil:
		return jobs.ItemResult{}, err
	case !changed:
		return jobs.ItemResult{Result: jobs.ItemSkipped, Reason: "it goes by the newest version already"}, nil
	}
	return jobs.ItemResult{Result: jobs.ItemDone}, nil
}
