package calendars

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

// Create writes a new calendar. Schedules may already name it if an earlier calendar with this name was deleted at the moment when they
// were created. The re-planning finds them.
func (s *Service) Create(
	ctx context.Context, namespace string, req *schedule.CreateCalendarRequest,
) (schedule.CalendarDescription, error) {
	if err := s.checkRoom(ctx, namespace, req); err != nil {
		return schedule.CalendarDescription{}, err
	}
	created := newCalendar(req, request.OriginOf(ctx, s.config.Now(), req.RequestID), s.config.NewID(), s.config.NewID())
	_, err := s.put(ctx, namespace, &created, 0)
	if errors.Is(err, kv.ErrConflict) {
		return s.repeatCreate(ctx, namespace, req)
	}
	if err != nil {
		return schedule.CalendarDescription{}, err
	}
	return s.describeStored(ctx, namespace, &created)
}

// put writes a new version of a calendar and starts the re-planning of the schedules that use it. The last job of the re-planning is made
// before the calendar is written, so that it happens whatever happens to this frontend.
func (s *Service) put(ctx context.Context, namespace string, next *Calendar, revision uint64) (uint64, error) {
	if err := s.arrangeReplan(ctx, namespace, next); err != nil {
		return 0, err
	}
	revision, err := kv.PutJSON(ctx, s.config.Cluster, subjects.CalendarKey(namespace, next.Name), next, revision)
	if err != nil {
		return 0, err
	}
	s.startReplan(ctx, namespace, next)
	return revision, nil
}

// checkRoom refuses a new calendar if the namespace has as many as it may have. Requests that arrive together may exceed the limit by
// their number. A calendar that already exists is not refused here: the write will find the conflict.
func (s *Service) checkRoom(ctx context.Context, namespace string, req *schedule.CreateCalendarRequest) error {
	keys, err := s.names(ctx, namespace)
	if err != nil || len(keys) < schedule.MaxCalendars {
		return err
	}
	if _, err := s.get(ctx, namespace, req.Name); err == nil {
		return nil
	}
	return schedule.Errorf(schedule.CodeResourceExhausted,
		"namespace %q has %d calendars: at most %d are accepted, delete some first", namespace, len(keys), schedule.MaxCalendars)
}

// repeatCreate answers a create request for a name that is taken.
func (s *Service) repeatCreate(
	ctx context.Context, namespace string, req *schedule.CreateCalendarRequest,
) (schedule.CalendarDescription, error) {
	record, err := s.get(ctx, namespace, req.Name)
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
	return s.describeStored(ctx, namespace, &record.Value)
}

// Update replaces the entries of a calendar.
func (s *Service) Update(
	ctx context.Context, namespace string, req *schedule.UpdateCalendarRequest,
) (schedule.CalendarDescription, error) {
	for range request.MaxWrites {
		record, err := s.get(ctx, namespace, req.Name)
		if err != nil {
			return schedule.CalendarDescription{}, err
		}
		current := record.Value
		if current.hasApplied(req.RequestID) {
			return s.describeStored(ctx, namespace, &current)
		}
		if err := request.CheckToken("calendar", current.Version, req.ConflictToken); err != nil {
			return schedule.CalendarDescription{}, err
		}
		next := current.updated(req, request.OriginOf(ctx, s.config.Now(), req.RequestID), s.config.NewID())
		if next.Version == current.Version {
			_, err = kv.PutJSON(ctx, s.config.Cluster, subjects.CalendarKey(namespace, req.Name), &next, record.Revision)
		} else {
			_, err = s.put(ctx, namespace, &next, record.Revision)
		}
		switch {
		case err == nil:
			return s.describeStored(ctx, namespace, &next)
		case !errors.Is(err, kv.ErrConflict):
			return schedule.CalendarDescription{}, err
		}
	}
	return schedule.CalendarDescription{}, errContended
}

var errContended = schedule.Errorf(schedule.CodeUnavailable,
	"the calendar is being changed by too many others: try again")

// Delete removes a calendar that no schedule uses. It marks the calendar first, so that no schedule begins to use it while Delete looks
// for users. A schedule whose request had already read the calendar keeps the contents.
func (s *Service) Delete(
	ctx context.Context, namespace string, req *schedule.DeleteCalendarRequest,
) (schedule.Empty, error) {
	key := subjects.CalendarKey(namespace, req.Name)
	if repeated, err := s.hasDeleted(ctx, namespace, req); err != nil || repeated {
		return schedule.Empty{}, err
	}
	for range request.MaxWrites {
		record, err := s.get(ctx, namespace, req.Name)
		if err != nil {
			return schedule.Empty{}, err
		}
		if err := request.CheckToken("calendar", record.Value.Version, req.ConflictToken); err != nil {
			return schedule.Empty{}, err
		}
		marked := record.Value
		marked.Deleting = s.config.Now().UTC()
		revision, err := kv.PutJSON(ctx, s.config.Cluster, key, &marked, record.Revision)
		if err == nil {
			err = s.deleteUnused(ctx, namespace, &marked, revision)
		}
		if err == nil {
			s.noteDeleted(ctx, namespace, req)
		}
		if !errors.Is(err, kv.ErrConflict) {
			return schedule.Empty{}, err
		}
	}
	return schedule.Empty{}, errContended
}

// hasDeleted reports whether this request was the last to delete a calendar with this name.
func (s *Service) hasDeleted(
	ctx context.Context, namespace string, req *schedule.DeleteCalendarRequest,
) (bool, error) {
	if req.RequestID == "" {
		return false, nil
	}
	last, err := kv.OrZero(kv.GetJSON[string](ctx, s.config.Cluster, subjects.DeletedCalendarKey(namespace, req.Name)))
	return last.Value == req.RequestID, err
}

// noteDeleted remembers which request has deleted a calendar, as long as a deleted record leaves a trace.
func (s *Service) noteDeleted(ctx context.Context, namespace string, req *schedule.DeleteCalendarRequest) {
	if req.RequestID == "" {
		return
	}
	err := kv.PutJSONFor(ctx, s.config.Cluster, subjects.DeletedCalendarKey(namespace, req.Name), &req.RequestID, subjects.TombstoneAge)
	if err != nil {
		s.config.Logger.WarnContext(ctx, "a repeat of the request that deleted a calendar will not be known", "namespace", namespace,
			"calendar", req.Name, "error", err)
	}
}

// deleteUnused removes a marked calendar. If a schedule uses the calendar, it removes the mark instead.
func (s *Service) deleteUnused(ctx context.Context, namespace string, marked *Calendar, revision uint64) error {
	key := subjects.CalendarKey(namespace, marked.Name)
	users, err := s.usersOf(ctx, namespace, marked.Name)
	if err == nil && len(users) == 0 {
		return s.config.Cluster.Delete(ctx, key, revision)
	}
	marked.Deleting = time.Time{}
	if _, unmarkErr := kv.PutJSON(context.WithoutCancel(ctx), s.config.Cluster, key, marked, revision); unmarkErr != nil {
		s.config.Logger.WarnContext(ctx, "mark of a calendar not removed, it goes by itself", "namespace", namespace,
			"calendar", marked.Name, "after", deleteTime, "error", unmarkErr)
	}
	if err != nil {
		return err
	}
	return schedule.Errorf(schedule.CodeFailedPrecondition,
		"calendar %q is used by %s: take it out of excludeCalendarsNamed there first", marked.Name, someOf(users))
}

// maxUsers is how many users of a calendar are looked for; shownUsers is how many an error names.
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

// usersBatch is how many definitions one read brings when users of a calendar are looked for; usersReaders is how many such reads run in
// parallel.
const (
	usersBatch   = 1000
	usersReaders = 4
)

// usersOf returns the IDs of the first schedules that name a calendar, about maxUsers at most. It sees every schedule that named the
// calendar when usersOf was called, even if a replica lags behind.
func (s *Service) usersOf(ctx context.Context, namespace, name string) ([]string, error) {
	keys, err := s.config.KeysAndTraces.Of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	now, err := kv.Now(ctx, s.config.Store)
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
			definitions, err := s.definitions(groupCtx, now, some)
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
