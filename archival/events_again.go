package archival

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A part may have events that are archived already: a process has died before it stored that they are, a backup was restored, or the namespace has come back to
// a bucket that it used before. The stream may have lost the first events of a part since, so a part that is made again may begin with another event. So a
// process first looks for the events that were there when it began, and leaves out what it finds.

// disorder is by how much the times of events may differ from their order in the stream.
const disorder = 10 * time.Minute

// archivedEvents are the objects that an archive has of a day and a schedule.
type archivedEvents map[[2]string][]archive.Events

// begin looks how many events there are before the process reads how far they are archived.
func (f *eventFollow) begin(ctx context.Context) error {
	if f.known {
		return nil
	}
	last, err := f.bus.Last(ctx, f.config.Names.EventStream(), f.config.Names.Events(schedule.Key{Namespace: f.namespace}))
	if err != nil && !errors.Is(err, bus.ErrNone) {
		return err
	}
	f.again = last.Sequence
	return nil
}

// left is what there is to write of a part.
type left struct {
	// sequence is that of the first event that is not archived. It is in the names.
	sequence uint64
	groups   []*group
	// stay are objects with the same sequence that there are already.
	stay []archive.Events
}

// leave takes from a part what is archived.
func (f *eventFollow) leave(ctx context.Context, in *bucket, p *part) (left, error) {
	l := left{sequence: p.first, groups: p.groups()}
	if p.first > f.again {
		return l, nil
	}
	there, err := f.archived(ctx, in, l.groups)
	if err != nil {
		return l, err
	}
	err = eachGroup(ctx, l.groups, func(ctx context.Context, _ int, g *group) error {
		return in.within(ctx, f.config.writeLimit, func(ctx context.Context) error { return g.leaveOut(ctx, in.Bucket, there[g.key()]) })
	})
	if err != nil {
		return l, err
	}
	l.groups = slices.DeleteFunc(l.groups, func(g *group) bool { return len(g.events) == 0 })
	if len(l.groups) == 0 {
		return l, nil
	}
	if !there.isBegun(f.namespace, p.first, l.groups) {
		l.sequence = slices.MinFunc(l.groups, func(a, b *group) int { return cmp.Compare(a.events[0].Sequence, b.events[0].Sequence) }).events[0].Sequence
	}
	l.stay = there.of(f.namespace, l.sequence)
	return l, f.keep(ctx, in, &l)
}

// of returns the objects of the part that begins at a sequence.
func (a archivedEvents) of(namespace string, sequence uint64) (found []archive.Events) {
	for _, objects := range a {
		for _, e := range objects {
			if e.Object == archive.EventsName(namespace, e.ScheduleID, e.Day, sequence) {
				found = append(found, e)
			}
		}
	}
	return found
}

// isBegun reports whether a process seems to have died while it wrote a part: the archive has no later one, and says for some days what is where, and not for a
// day with more events. Those events may be there all the same, in objects of that part, and must not be in others, too.
func (a archivedEvents) isBegun(namespace string, sequence uint64, more []*group) bool {
	days := map[string]bool{}
	for _, objects := range a {
		for _, e := range objects {
			switch strings.Compare(e.Object, archive.EventsName(namespace, e.ScheduleID, e.Day, sequence)) {
			case 0:
				days[e.Day] = true
			case 1:
				return false
			}
		}
	}
	return len(days) > 0 && slices.ContainsFunc(more, func(g *group) bool { return !days[g.day] })
}

// keep keeps what the objects have that are to be written over.
func (f *eventFollow) keep(ctx context.Context, in *bucket, l *left) error {
	return eachGroup(ctx, l.groups, func(ctx context.Context, _ int, g *group) error {
		i := slices.IndexFunc(l.stay, func(e archive.Events) bool { return e.Day == g.day && e.ScheduleID == g.scheduleID })
		if i < 0 {
			return nil
		}
		return in.within(ctx, f.config.writeLimit, func(ctx context.Context) error { return g.putBehind(ctx, in.Bucket, &l.stay[i]) })
	})
}

// index returns what the archive has then of the part: what was saved, and what stays. It is in the order of days and schedules.
func (l *left) index(saved []archive.Events) []archive.Events {
	same := func(a, b archive.Events) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.ScheduleID, b.ScheduleID))
	}
	if len(saved) == 0 {
		return nil
	}
	days := map[string]bool{}
	for _, e := range saved {
		days[e.Day] = true
	}
	for _, e := range l.stay {
		if days[e.Day] && !slices.ContainsFunc(saved, func(s archive.Events) bool { return same(s, e) == 0 }) {
			saved = append(saved, e)
		}
	}
	slices.SortFunc(saved, same)
	return saved
}

// archived returns what the archive has of the days of some groups.
func (f *eventFollow) archived(ctx context.Context, in *bucket, groups []*group) (archivedEvents, error) {
	found, day := archivedEvents{}, ""
	for _, g := range groups {
		if g.day == day {
			continue
		}
		day = g.day
		err := in.within(ctx, f.config.writeLimit, func(ctx context.Context) error { return found.add(ctx, in.Bucket, f.namespace, day) })
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// add adds what an archive has of a day. What cannot be read there counts as not archived.
func (a archivedEvents) add(ctx context.Context, in *archive.Bucket, namespace, day string) error {
	names, err := in.EventIndexes(ctx, namespace, day)
	if err != nil {
		return err
	}
	for _, name := range names {
		all, err := in.EventIndex(ctx, name)
		if err != nil && !isLost(err) {
			return err
		}
		for _, e := range all {
			key := [2]string{day, e.ScheduleID}
			a[key] = append(a[key], e)
		}
	}
	return nil
}

// isLost reports whether an object is missing or damaged.
func isLost(err error) bool {
	return errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrDiffers)
}

// leaveOut takes those events out of a group that some objects have.
func (g *group) leaveOut(ctx context.Context, in *archive.Bucket, objects []archive.Events) error {
	known := map[string]bool{}
	for i := range objects {
		if !g.overlaps(&objects[i]) {
			continue
		}
		events, err := in.EventsOf(ctx, objects[i].Object)
		if err != nil && !isLost(err) {
			return err
		}
		for _, e := range events {
			known[string(e)] = true
		}
	}
	g.events = slices.DeleteFunc(g.events, func(e archive.Event) bool {
		stored, _ := json.Marshal(e.JSON) // it is JSON
		return known[string(stored)]
	})
	return nil
}

// key is the day and the schedule of a group.
func (g *group) key() [2]string { return [2]string{g.day, g.scheduleID} }

// overlaps reports whether an object may have events of a group.
func (g *group) overlaps(e *archive.Events) bool {
	return slices.ContainsFunc(g.events, func(one archive.Event) bool {
		return !one.Time.Before(e.First.Add(-disorder)) && !one.Time.After(e.Last.Add(disorder))
	})
}

// putBehind puts the events of a group behind those of an object that has the same name, so that it does not lose them. There is one if the stream was another
// one when it was written.
func (g *group) putBehind(ctx context.Context, in *archive.Bucket, e *archive.Events) error {
	events, err := in.EventsOf(ctx, e.Object)
	if err != nil && !isLost(err) {
		return err
	}
	var before []archive.Event
	for _, data := range events {
		one := eventOf(&bus.Message{Data: data}, e.First)
		if one.JSON = data; one.Kind == "" {
			one.Kind, one.Time = kindUnreadable, e.First // it was none when it was archived
		}
		before = append(before, one)
	}
	g.events = append(before, g.events...)
	return nil
}
