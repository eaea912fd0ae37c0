package frontend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// createCalendar writes a new calendar. Schedules may name it already, if one of its name was deleted at the moment when they
// were created: they are looked for.
func (a *api) createCalendar(
	ctx context.Context, namespace string, req *schedule.CreateCalendarRequest,
) (schedule.CalendarDescription, error) {
	if err := a.checkRoomForCalendar(ctx, namespace, req); err != nil {
		return schedule.CalendarDescription{}, err
	}
	created := newCalendar(req, a.origin(ctx, req.RequestID), a.newID(), a.newID())
	_, err := a.putCalendar(ctx, namespace, &created, 0)
	if errors.Is(err, kv.ErrConflict) {
		return a.repeatCreateCalendar(ctx, namespace, req)
	}
	if err != nil {
		return schedule.CalendarDescription{}, err
	}
	return a.describeStored(ctx, namespace, &created)
}

// putCalendar writes a new version of a calendar, and has the schedules that use it planned anew. That is arranged for before,
// so that it is done whatever happens to this frontend.
func (a *api) putCalendar(ctx context.Context, namespace string, next *calendar, revision uint64) (uint64, error) {
	if err := a.arrangeReplan(ctx, namespace, next); err != nil {
		return 0, err
	}
	revision, err := kv.PutJSON(ctx, a.cluster, subjects.CalendarKey(namespace, next.Name), next, revision)
	if err != nil {
		return 0, err
	}
	a.startReplan(ctx, namespace, next)
	return revision, nil
}

// checkRoomForCalendar refuses a calendar where there are enough. Requests that arrive together may pass the limit by their
// number. One that is there already is left to whoever finds the conflict.
func (a *api) checkRoomForCalendar(ctx context.Context, namespace string, req *schedule.CreateCalendarRequest) error {
	keys, err := a.calendarNames(ctx, namespace)
	if err != nil || len(keys) < schedule.MaxCalendars {
		return err
	}
	if _, err := a.calendar(ctx, namespace, req.Name); err == nil {
		return nil
	}
	return schedule.Errorf(schedule.CodeResourceExhausted,
		"namespace %q has %d calendars: at most %d are accepted, delete some first", namespace, len(keys), schedule.MaxCalendars)
}

// repeatCreateCalendar answers a create request for a name that is taken.
func (a *api) repeatCreateCalendar(
	ctx context.Context, namespace string, req *schedule.CreateCalendarRequest,
) (schedule.CalendarDescription, error) {
	record, err := a.calendar(ctx, namespace, req.Name)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return schedule.CalendarDescription{}, schedule.Errorf(schedule.CodeUnavailable,
			"a calendar of this name was deleted at the same moment: try again")
	case err != nil:
		return schedule.CalendarDescription{}, err
	case req.RequestID == "" || req.RequestID != record.Value.RequestID:
		return schedule.CalendarDescription{}, &schedule.Error{
			Code: schedule.CodeAlreadyExists, Field: "name",
			Message: fmt.Sprintf("namespace %q has a calendar %q already", namespace, req.Name),
		}
	}
	return a.describeStored(ctx, namespace, &record.Value)
}

// updateCalendar replaces what a calendar holds.
func (a *api) updateCalendar(
	ctx context.Context, namespace string, req *schedule.UpdateCalendarRequest,
) (schedule.CalendarDescription, error) {
	for range maxWrites {
		record, err := a.calendar(ctx, namespace, req.Name)
		if err != nil {
			return schedule.CalendarDescription{}, err
		}
		current := record.Value
		if current.hasApplied(req.RequestID) {
			return a.describeStored(ctx, namespace, &current)
		}
		if err := request.CheckToken("calendar", current.Version, req.ConflictToken); err != nil {
			return schedule.CalendarDescription{}, err
		}
		next := current.updated(req, a.origin(ctx, req.RequestID), a.newID())
		if next.Version == current.Version {
			_, err = kv.PutJSON(ctx, a.cluster, subjects.CalendarKey(namespace, req.Name), &next, record.Revision)
		} else {
			_, err = a.putCalendar(ctx, namespace, &next, record.Revision)
		}
		switch {
		case err == nil:
			return a.describeStored(ctx, namespace, &next)
		case !errors.Is(err, kv.ErrConflict):
			return schedule.CalendarDescription{}, err
		}
	}
	return schedule.CalendarDescription{}, errCalendarContended
}

var errCalendarContended = schedule.Errorf(schedule.CodeUnavailable,
	"the calendar is being changed by too many others: try again")

// deleteCalendar removes a calendar that no schedule uses. It is marked first, so that none begins to while they are looked
// through; one whose request had been worked on before that keeps what the calendar held.
func (a *api) deleteCalendar(
	ctx context.Context, namespace string, req *schedule.DeleteCalendarRequest,
) (schedule.Empty, error) {
	key := subjects.CalendarKey(namespace, req.Name)
	if repeated, err := a.hasDeletedCalendar(ctx, namespace, req); err != nil || repeated {
		return schedule.Empty{}, err
	}
	for range maxWrites {
		record, err := a.calendar(ctx, namespace, req.Name)
		if err != nil {
			return schedule.Empty{}, err
		}
		if err := request.CheckToken("calendar", record.Value.Version, req.ConflictToken); err != nil {
			return schedule.Empty{}, err
		}
		marked := record.Value
		marked.Deleting = a.now().UTC()
		revision, err := kv.PutJSON(ctx, a.cluster, key, &marked, record.Revision)
		if err == nil {
			err = a.deleteUnused(ctx, namespace, &marked, revision)
		}
		if err == nil {
			a.noteDeletedCalendar(ctx, namespace, req)
		}
		if !errors.Is(err, kv.ErrConflict) {
			return schedule.Empty{}, err
		}
	}
	return schedule.Empty{}, errCalendarContended
}

// hasDeletedCalendar reports whether a request was the last to delete a calendar of that name.
func (a *api) hasDeletedCalendar(
	ctx context.Context, namespace string, req *schedule.DeleteCalendarRequest,
) (bool, error) {
	if req.RequestID == "" {
		return false, nil
	}
	last, err := kv.OrZero(kv.GetJSON[string](ctx, a.cluster, subjects.DeletedCalendarKey(namespace, req.Name)))
	return last.Value == req.RequestID, err
}

// noteDeletedCalendar remembers the request that has deleted a calendar, for as long as a deleted record leaves a trace.
func (a *api) noteDeletedCalendar(ctx context.Context, namespace string, req *schedule.DeleteCalendarRequest) {
	if req.RequestID == "" {
		return
	}
	err := kv.PutJSONFor(ctx, a.cluster, subjects.DeletedCalendarKey(namespace, req.Name), &req.RequestID, subjects.TombstoneAge)
	if err != nil {
		a.log.WarnContext(ctx, "a repeat of the request that deleted a calendar will not be known", "namespace", namespace,
			"calendar", req.Name, "error", err)
	}
}

// deleteUnused removes a calendar that has been marked, or the mark if a schedule uses it.
func (a *api) deleteUnused(ctx context.Context, namespace string, marked *calendar, revision uint64) error {
	key := subjects.CalendarKey(namespace, marked.Name)
	users, err := a.usersOf(ctx, namespace, marked.Name)
	if err == nil && len(users) == 0 {
		return a.cluster.Delete(ctx, key, revision)
	}
	marked.Deleting = time.Time{}
	if _, unmarkErr := kv.PutJSON(context.WithoutCancel(ctx), a.cluster, key, marked, revision); unmarkErr != nil {
		a.log.WarnContext(ctx, "mark of a calendar not removed, it goes by itself", "namespace", namespace,
			"calendar", marked.Name, "after", deleteTime, "error", unmarkErr)
	}
	if err != nil {
		return err
	}
	return schedule.Errorf(schedule.CodeFailedPrecondition,
		"calendar %q is used by %s: take it out of excludeCalendarsNamed there first", marked.Name, someOf(users))
}

// maxUsers is how many users of a calendar are looked for, shownUsers how many are named.
const (
	maxUsers   = 100
	shownUsers = 3
)

// someOf names a few of the schedules that use a calendar.
func someOf(ids []string) string {
	quoted := make([]string, min(len(ids), shownUsers))
	for i := range quoted {
		quoted[i] = strconv.Quote(ids[i])
	}
	names := strings.Join(quoted, ", ")
	switch {
	case len(ids) == 1:
		return "schedule " + names
	case len(ids) <= shownUsers:
		return "the schedules " + names
	case len(ids) < maxUsers:
		return fmt.Sprintf("the schedules %s and %d more", names, len(ids)-shownUsers)
	}
	return fmt.Sprintf("the schedules %s and many more", names)
}

// usersBatch is how many definitions are read at once to look for users of a calendar, usersReaders how many such reads go on
// side by side.
const (
	usersBatch   = 1000
	usersReaders = 4
)

// usersOf returns the IDs of the first schedules that name a calendar, about maxUsers at most. None that did when it was called goes
// unseen, whatever replicas know.
func (a *api) usersOf(ctx context.Context, namespace, name string) ([]string, error) {
	keys, err := a.keysAndTraces.Of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	now, err := kv.Now(ctx, a.store)
	if err != nil {
		return nil, err
	}
	chunks := slices.Collect(slices.Chunk(keys, usersBatch))
	found := make([][]string, len(chunks))
	var total atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(usersReaders)
	for i, some := range chunks {
		group.Go(func() error {
			if total.Load() >= maxUsers {
				return nil
			}
			definitions, err := a.definitions(groupCtx, now, some)
			for d := range definitions {
				if usesCalendar(&definitions[d], name) {
					found[i] = append(found[i], definitions[d].ID)
				}
			}
			total.Add(int64(len(found[i])))
			return err
		})
	}
	err = group.Wait()
	if users := slices.Concat(found...); err == nil || len(users) > 0 {
		return users, nil
	}
	if ctx.Err() != nil {
		return nil, schedule.Errorf(schedule.CodeUnavailable,
			"there was no time to look for users of the calendar among about %d schedules of the namespace: try again when "+
				"there is less to do", len(keys))
	}
	return nil, err
}
