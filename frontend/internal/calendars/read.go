package calendars

import (
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

// get reads a calendar as it was last written.
func (s *Service) get(ctx context.Context, namespace, name string) (kv.Record[Calendar], error) {
	record, err := kv.GetJSON[Calendar](ctx, s.config.Cluster, subjects.CalendarKey(namespace, name))
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoCalendar(namespace, name)
	}
	return record, err
}

// names returns the names of the calendars of a namespace, in order.
func (s *Service) names(ctx context.Context, namespace string) ([]string, error) {
	keys, err := s.config.Cluster.Keys(ctx, subjects.CalendarKeys(namespace))
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

// Describe returns a calendar, and how far the re-planning of its schedules has come.
func (s *Service) Describe(
	ctx context.Context, namespace string, req *schedule.CalendarRequest,
) (schedule.CalendarDescription, error) {
	record, err := s.get(ctx, namespace, req.Name)
	if err != nil {
		return schedule.CalendarDescription{}, err
	}
	return s.describeStored(ctx, namespace, &record.Value)
}

// describeStored adds to a calendar how far its re-planning has come.
func (s *Service) describeStored(ctx context.Context, namespace string, c *Calendar) (schedule.CalendarDescription, error) {
	replan, err := s.replanOf(ctx, namespace, c.Edition)
	return c.describe(namespace, replan), err
}

// ListReply is a schedule.ListCalendarsReply whose entries are already encoded.
type ListReply struct {
	Calendars     []json.RawMessage `json:"calendars"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// List returns one page of the calendars of a namespace, by name.
func (s *Service) List(ctx context.Context, namespace string, req *schedule.ListRequest) (ListReply, error) {
	if req.Query != "" {
		return ListReply{}, schedule.Invalid("query", "is for schedules: leave it out")
	}
	p, err := listing.NewPage(req)
	if err != nil {
		return ListReply{}, err
	}
	names, err := s.names(ctx, namespace)
	if err != nil {
		return ListReply{}, err
	}
	for _, name := range names {
		p.Keys = append(p.Keys, schedule.Key{Namespace: namespace, ID: name})
	}
	some := p.Next(0)
	entries, err := s.entries(ctx, some)
	if err != nil {
		return ListReply{}, err
	}
	p.Add(some, entries)
	p.Cut(s.config.MaxReply() - listing.ReplyOverhead)
	return ListReply{Calendars: p.Entries(), NextPageToken: p.NextToken()}, nil
}

// entries reads the calendars of a page, in the same order. The entry is nil if the calendar was deleted meanwhile or cannot be read;
// describe says what is wrong with the latter.
func (s *Service) entries(ctx context.Context, keys []schedule.Key) ([][]byte, error) {
	entries := make([][]byte, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listing.Readers)
	for i, key := range keys {
		group.Go(func() error {
			record, err := s.get(ctx, key.Namespace, key.ID)
			switch {
			case schedule.CodeOf(err) == schedule.CodeNotFound:
				return nil
			case errors.Is(err, kv.ErrCorrupt):
				s.config.Logger.ErrorContext(ctx, "calendar left out of a list", "namespace", key.Namespace, "calendar", key.ID, "error", err)
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

// Of returns the calendars that a spec names, as they were last written, in the form in which a definition keeps them. It returns nil if
// the spec names none. If one does not exist, the error says which calendars there are.
func (s *Service) Of(
	ctx context.Context, namespace string, spec *schedule.Spec,
) (map[string]wire.CalendarCopy, error) {
	if len(spec.ExcludeCalendarsNamed) == 0 {
		return nil, nil
	}
	calendars := map[string]wire.CalendarCopy{}
	for _, name := range spec.ExcludeCalendarsNamed {
		record, err := s.get(ctx, namespace, name)
		switch {
		case schedule.CodeOf(err) == schedule.CodeNotFound:
			return nil, s.missingCalendar(ctx, namespace, spec)
		case err != nil:
			return nil, err
		case record.Value.isDeleting(s.config.Now()):
			return nil, schedule.Errorf(schedule.CodeUnavailable, "calendar %q is being deleted: try again in a moment", name)
		}
		calendars[name] = record.Value.Copy()
	}
	return calendars, nil
}

// missingCalendar returns the error for a spec that names a calendar which does not exist.
func (s *Service) missingCalendar(ctx context.Context, namespace string, spec *schedule.Spec) error {
	names, err := s.names(ctx, namespace)
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

// definitions reads the definitions of those schedules that exist, as they were at a moment or later. It leaves out and logs a definition
// that cannot be read, because nothing can be computed from it, with or without calendars.
func (s *Service) definitions(ctx context.Context, m kv.Moment, keys []schedule.Key) ([]wire.Definition, error) {
	batch, err := kv.ReadDefinitions(ctx, s.config.Store, m, keys...)
	if err != nil {
		return nil, err
	}
	found := make([]wire.Definition, 0, len(keys))
	for _, key := range keys {
		record, err := kv.From(ctx, batch, kv.Definition(key))
		switch {
		case errors.Is(err, kv.ErrNotFound):
		case errors.Is(err, kv.ErrCorrupt):
			s.config.Logger.ErrorContext(ctx, "schedule left out of a search for users of a calendar", "namespace", key.Namespace,
				"schedule_id", key.ID, "error", err)
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
