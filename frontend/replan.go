package frontend

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

// A change of a calendar reaches the schedules that use it by two jobs. The first begins at once. The last begins when
// whatever was under way at the moment of the change has been written or never will be: the calendar itself, and schedules
// whose requests were worked on by what it held before. It is made before the calendar is written, so that a frontend that dies
// in between leaves nothing behind.
const (
	kindReplan = "replan"
	// replanRate is how many schedules a job brings up to date in a second: the frontends and pools have other work to do.
	replanRate = 200
	// replanBatch is how many definitions are looked at at once, replanLook for how long before somebody is told how far it has
	// come.
	replanBatch = 1000
	replanLook  = 20 * time.Second
)

func lastJob(edition string) string { return edition + "-last" }

// replanParameters are those of both jobs.
type replanParameters struct {
	Calendar string `json:"calendar"`
	// Edition is that of the version of the calendar: another one has jobs of its own.
	Edition string `json:"edition"`
}

// replanJob returns one of the jobs of a version of a calendar.
func (a *api) replanJob(namespace, id string, c *calendar, notBefore time.Time) (jobs.Job, error) {
	parameters, err := json.Marshal(replanParameters{Calendar: c.Name, Edition: c.Edition})
	return jobs.Job{
		Namespace: namespace, ID: id, Kind: kindReplan, Parameters: parameters, Identity: c.Identity,
		CreateTime: a.now().UTC(), NotBefore: notBefore, Rate: replanRate, Total: -1,
	}, err
}

// arrangeReplan makes the last job of a version that is about to be written. Requests are worked on for less than the delay of
// a guard: one that changes the calendar, and one that has read it before that.
func (a *api) arrangeReplan(ctx context.Context, namespace string, c *calendar) error {
	job, err := a.replanJob(namespace, lastJob(c.Edition), c, a.now().UTC().Add(2*a.guardDelay))
	if err == nil {
		_, err = a.jobs.Create(ctx, job)
	}
	return err
}

// startReplan makes the first job of a version that has been written. Where that fails the last one does it all.
func (a *api) startReplan(ctx context.Context, namespace string, c *calendar) {
	job, err := a.replanJob(namespace, c.Edition, c, time.Time{})
	if err == nil {
		_, err = a.jobs.Create(ctx, job)
	}
	if err != nil {
		a.log.WarnContext(ctx, "schedules will go by a calendar later than they could", "namespace", namespace,
			"calendar", c.Name, "error", err)
	}
}

// replanOf returns how far the jobs of a version of a calendar have come; nil where they are forgotten.
func (a *api) replanOf(ctx context.Context, namespace, edition string) (*schedule.Replan, error) {
	last, err := a.jobs.Get(ctx, namespace, lastJob(edition))
	if errors.Is(err, jobs.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := a.jobs.Get(ctx, namespace, edition)
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

// replanWork is what the jobs do.
type replanWork struct{ api *api }

// Next implements jobs.Work: it returns schedules that use the calendar and do not go by its newest version. None that is
// there when it is asked goes unseen, whatever replicas know.
func (w replanWork) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	newest, err := w.calendar(ctx, job)
	if newest == nil || err != nil {
		return nil, err
	}
	keys, err := w.api.keys.Of(ctx, job.Namespace)
	if err != nil {
		return nil, err
	}
	now, err := kv.Now(ctx, w.api.store)
	if err != nil {
		return nil, err
	}
	var ids []string
	for until := w.api.now().Add(replanLook); len(ids) < limit; {
		some, more := listing.Keys(keys, "", after, replanBatch)
		if len(some) == 0 {
			break
		}
		definitions, err := w.api.definitions(ctx, now, some)
		if err != nil {
			return nil, err
		}
		for i := range definitions {
			if d := &definitions[i]; isBehind(d, newest) && len(ids) < limit {
				ids = append(ids, d.ID)
			}
		}
		after = some[len(some)-1].ID
		if more && w.api.now().After(until) {
			if len(ids) == 0 {
				return []string{after}, nil // of which there is nothing to do: the next question begins behind it
			}
			break
		}
	}
	return ids, nil
}

// calendar returns the calendar of a job; nil if it is gone, or at another version, which is that of other jobs.
func (w replanWork) calendar(ctx context.Context, job *jobs.Job) (*calendar, error) {
	var p replanParameters
	if err := json.Unmarshal(job.Parameters, &p); err != nil {
		return nil, schedule.Errorf(schedule.CodeInternal, "the parameters of the job cannot be read: %v", err)
	}
	record, err := w.api.calendar(ctx, job.Namespace, p.Calendar)
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

// isBehind reports whether a definition goes by an older version of a calendar, or by an earlier calendar of its name. A newer
// version than the newest is one that somebody else has read a moment later.
func isBehind(d *wire.Definition, newest *calendar) bool {
	known := d.Calendars[newest.Name]
	newer := known.Incarnation == newest.Incarnation && known.Version > newest.Version
	return usesCalendar(d, newest.Name) && known.Edition != newest.Edition && !newer
}

// Do implements jobs.Work: it brings one schedule up to date.
func (w replanWork) Do(ctx context.Context, job *jobs.Job, id string) (jobs.Outcome, error) {
	newest, err := w.calendar(ctx, job)
	if err != nil {
		return jobs.Outcome{}, err
	}
	if newest == nil {
		return jobs.Outcome{Result: jobs.ItemSkipped, Reason: "the calendar has changed again, or is gone"}, nil
	}
	changed, err := w.api.replan(request.WithIdentity(ctx, job.Identity), schedule.Key{Namespace: job.Namespace, ID: id}, newest)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return jobs.Outcome{Result: jobs.ItemSkipped, Reason: "the schedule is gone"}, nil
	case errors.Is(err, nats.ErrMaxPayload):
		return jobs.Outcome{Result: jobs.ItemFailed, Reason: "with the calendar, the schedule is larger than NATS accepts"}, nil
	case errors.Is(err, kv.ErrCorrupt):
		return jobs.Outcome{Result: jobs.ItemFailed, Reason: err.Error()}, nil
	case err != nil:
		return jobs.Outcome{}, err
	case !changed:
		return jobs.Outcome{Result: jobs.ItemSkipped, Reason: "it goes by the newest version already"}, nil
	}
	return jobs.Outcome{Result: jobs.ItemDone}, nil
}

// replan makes a new version of a definition that goes by the newest version of a calendar, unless it does already.
func (a *api) replan(ctx context.Context, key schedule.Key, newest *calendar) (changed bool, err error) {
	from := a.origin(ctx, "")
	var done *edit
	err = a.replace(ctx, key, func(record kv.Record[wire.Definition]) (func(context.Context) error, error) {
		done = nil
		if !isBehind(&record.Value, newest) {
			return nil, nil
		}
		next, err := a.decide(ctx, &change{needsTimes: true, edit: func(e *edit) error {
			e.replan(newest)
			return nil
		}}, record.Value, from)
		if err != nil {
			return nil, err
		}
		done = next
		return func(ctx context.Context) error {
			_, err := kv.Put(ctx, a.store, kv.Definition(key), &next.next, record.Revision)
			return err
		}, nil
	})
	if err != nil || done == nil {
		return false, err
	}
	a.afterChange(ctx, done)
	return true, nil
}

// replan puts the newest version of a calendar in the place of an older one. It does not move the update time: what was due
// by the older one, and is not in the buffer yet, stays due if it is so by the newer one.
func (e *edit) replan(newest *calendar) {
	calendars := map[string]wire.CalendarCopy{newest.Name: newest.copy()}
	for name, other := range e.next.Calendars {
		if name != newest.Name && slices.Contains(e.next.Schedule.Spec.ExcludeCalendarsNamed, name) {
			calendars[name] = other
		}
	}
	e.next.ReplanFrom = e.replanFrom()
	e.next.Calendars, e.next.CalendarsVersion, e.next.ReplanTime = calendars, e.next.Version, e.from.Now
	e.say(schedule.EventReplanned, "calendar "+newest.Name)
}

// replanFrom returns from when on the times of the newer calendar count, by what was due before: see [wire.Definition].
func (e *edit) replanFrom() time.Time {
	d, generator := &e.next, &e.facts.generator
	from := []time.Time{generator.Mark, d.CreateTime, d.UpdateTime, d.ActiveSince}
	if generator.Version < d.CalendarsVersion {
		from = append(from, d.ReplanFrom)
	}
	due, ok := e.facts.times.spec.NextDue(slices.MaxFunc(from, time.Time.Compare), e.facts.times.seed)
	if !ok || !due.Actual.Before(e.from.Now) {
		return e.from.Now
	}
	return due.Actual.Add(-1)
}
