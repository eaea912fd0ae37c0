package frontend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// calendar reads a calendar as it was last written.
func (a *api) calendar(ctx context.Context, namespace, name string) (kv.Record[calendar], error) {
	record, err := kv.GetJSON[calendar](ctx, a.cluster, subjects.CalendarKey(namespace, name))
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoCalendar(namespace, name)
	}
	return record, err
}

// calendarNames returns the names of the calendars of a namespace, in order.
func (a *api) calendarNames(ctx context.Context, namespace string) ([]string, error) {
	keys, err := a.cluster.Keys(ctx, subjects.CalendarKeys(namespace))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, key := range keys {
		_, name, err := subjects.ParseCalendarKey(key)
		if err != nil {
			return nil, err
		}
		found[name] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// describeCalendar tells of a calendar, and of the schedules that are planned anew by it.
func (a *api) describeCalendar(
	ctx context.Context, namespace string, req *schedule.CalendarRequest,
) (schedule.CalendarDescription, error) {
	record, err := a.calendar(ctx, namespace, req.Name)
	if err != nil {
		return schedule.CalendarDescription{}, err
	}
	return a.describeStored(ctx, namespace, &record.Value)
}

// describeStored adds to a calendar how far its re-planning has come.
func (a *api) describeStored(ctx context.Context, namespace string, c *calendar) (schedule.CalendarDescription, error) {
	replan, err := a.replanOf(ctx, namespace, c.Edition)
	return c.describe(namespace, replan), err
}

// calendarsReply is a schedule.ListCalendarsReply whose entries are encoded already, as those of listReply are.
type calendarsReply struct {
	Calendars     []json.RawMessage `json:"calendars"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// listCalendars reads one page.
func (a *api) listCalendars(ctx context.Context, namespace string, req *schedule.ListRequest) (calendarsReply, error) {
	if req.Query != "" {
		return calendarsReply{}, schedule.Invalid("query", "is for schedules: leave it out")
	}
	after, err := listing.DecodePageToken(req.PageToken)
	if err != nil {
		return calendarsReply{}, err
	}
	names, err := a.calendarNames(ctx, namespace)
	if err != nil {
		return calendarsReply{}, err
	}
	keys := make([]schedule.Key, len(names))
	for i, name := range names {
		keys[i] = schedule.Key{Namespace: namespace, ID: name}
	}
	p := listing.Page{Keys: keys, Prefix: req.Prefix, After: after, Size: cmp.Or(req.PageSize, listing.DefaultPageSize), More: true}
	some := p.Next(0)
	entries, err := a.calendarEntries(ctx, some)
	if err != nil {
		return calendarsReply{}, err
	}
	for i, entry := range entries {
		if entry != nil {
			p.Add(some[i].ID, entry)
		}
	}
	p.Cut(a.maxReply() - listing.ReplyOverhead)
	reply := calendarsReply{Calendars: p.Entries()}
	if p.More {
		reply.NextPageToken = listing.EncodePageToken(p.After)
	}
	return reply, nil
}

// calendarEntries reads the calendars of a page, in the same order. The entry of one that has gone meanwhile is nil, and so is
// that of one that cannot be read: describe says what is wrong with it.
func (a *api) calendarEntries(ctx context.Context, keys []schedule.Key) ([][]byte, error) {
	entries := make([][]byte, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listReaders)
	for i, key := range keys {
		group.Go(func() error {
			record, err := a.calendar(ctx, key.Namespace, key.ID)
			switch {
			case schedule.CodeOf(err) == schedule.CodeNotFound:
				return nil
			case errors.Is(err, kv.ErrCorrupt):
				a.log.ErrorContext(ctx, "calendar left out of a list", "namespace", key.Namespace, "calendar", key.ID, "error", err)
				return nil
			case err != nil:
				return err
			}
			entries[i], err = apitext.EncodeJSON(record.Value.summary())
			return err
		})
	}
	return entries, group.Wait()
}

// calendarsOf returns the calendars that a spec names, as they were last written, in the form that a definition keeps them
// in. One that does not exist is an error that says which ones do.
func (a *api) calendarsOf(
	ctx context.Context, namespace string, spec *schedule.Spec,
) (map[string]wire.CalendarCopy, error) {
	if len(spec.ExcludeCalendarsNamed) == 0 {
		return nil, nil
	}
	calendars := map[string]wire.CalendarCopy{}
	for _, name := range spec.ExcludeCalendarsNamed {
		record, err := a.calendar(ctx, namespace, name)
		switch {
		case schedule.CodeOf(err) == schedule.CodeNotFound:
			return nil, a.missingCalendar(ctx, namespace, spec)
		case err != nil:
			return nil, err
		case record.Value.isDeleting(a.now()):
			return nil, schedule.Errorf(schedule.CodeUnavailable, "calendar %q is being deleted: try again in a moment", name)
		}
		calendars[name] = record.Value.copy()
	}
	return calendars, nil
}

// missingCalendar says which calendars there are, for a spec that names another one.
func (a *api) missingCalendar(ctx context.Context, namespace string, spec *schedule.Spec) error {
	names, err := a.calendarNames(ctx, namespace)
	if err != nil {
		return err
	}
	known := make(map[string]schedule.NamedCalendar, len(names))
	for _, name := range names {
		known[name] = schedule.NamedCalendar{Name: name}
	}
	if err := spec.ValidateWith(known); err != nil {
		return schedule.Prefix("spec", err)
	}
	return schedule.Errorf(schedule.CodeUnavailable, "a calendar of the spec was created at the same moment: try again")
}

// definitions reads those of the schedules that are there, as they were at a moment or later. One that cannot be read is left out and
// logged: nothing can be computed from it, with or without calendars.
func (a *api) definitions(ctx context.Context, m kv.Moment, keys []schedule.Key) ([]wire.Definition, error) {
	batch, err := kv.ReadDefinitions(ctx, a.store, m, keys...)
	if err != nil {
		return nil, err
	}
	found := make([]wire.Definition, 0, len(keys))
	for _, key := range keys {
		record, err := kv.From(ctx, batch, kv.Definition(key))
		switch {
		case errors.Is(err, kv.ErrNotFound):
		case errors.Is(err, kv.ErrCorrupt):
			a.logFor(key).ErrorContext(ctx, "schedule left out of a search for users of a calendar", "error", err)
		case err != nil:
			return nil, err
		default:
			found = append(found, record.Value)
		}
	}
	return found, nil
}

// usesCalendar reports whether the spec of a definition names a calendar.
func usesCalendar(def *wire.Definition, calendar string) bool {
	return slices.Contains(def.Schedule.Spec.ExcludeCalendarsNamed, calendar)
}
