package archival

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The events of schedules are archived part by part: when the first event that is not archived is old enough, all that there are up to now, or as many as
// fit into a part. Their stream removes them by their age, whether they are archived or not; so a part is made long before.

const (
	// partAge is how old the first event of a part is, and partShare which share of the retention of the events, at most.
	partAge   = time.Hour
	partShare = 6
	// partBytes is how many bytes of events a part has, apart from the last event.
	partBytes = 8 << 20
	// noShard is the shard of the events in the state of the process: all of them are in one stream.
	noShard = -1
)

// eventFollow reads the events of a namespace, and archives them. One goroutine at a time uses it.
type eventFollow struct {
	*Service
	namespace, address string
	// mark is that of the bucket.
	mark string
	// known says that the progress has been read.
	known    bool
	progress progress.Progress
	revision uint64
	// due is when the next part may be made.
	due time.Time
	// again is up to which sequence events may be archived already, whatever the progress says.
	again uint64
}

// ageOf returns how old the first event of a part is.
func ageOf(limits *schedule.NamespaceLimits) time.Duration {
	if keep := limits.EventRetention.Std(); keep > 0 {
		return min(partAge, keep/partShare)
	}
	return partAge
}

// isYoung reports whether an event is younger than an age. One of the future is not: the clock of whoever wrote it is wrong.
func isYoung(now, at time.Time, age time.Duration) bool {
	past := now.Sub(at)
	return -time.Minute < past && past < age
}

// round archives one part, if it is time. It reports whether there may be more.
func (f *eventFollow) round(ctx context.Context, in *bucket) (more bool, err error) {
	now := f.config.Now()
	if now.Before(f.due) {
		return false, nil
	}
	record, _ := f.config.Namespaces.Get(f.namespace)
	age := ageOf(&record.Limits)
	p, err := f.read(ctx)
	if err != nil {
		return false, err
	}
	if len(p.events) == 0 || isYoung(now, p.events[0].Time, age) {
		f.due = p.due(now, age)
		f.state.wait(place{f.namespace, noShard}, time.Time{}, nil)
		return false, nil
	}
	f.state.wait(place{f.namespace, noShard}, p.events[0].Time.Add(age), nil)
	if err := f.save(ctx, in, p); err != nil {
		metrics.ArchiveFailures.Add(ctx, 1, f.namespace)
		return false, err
	}
	return true, f.store(ctx, p)
}

// store stores that a part is archived.
func (f *eventFollow) store(ctx context.Context, p *part) error {
	next := progress.Progress{Archive: f.address, Mark: f.mark, Through: p.last, At: p.at}
	revision, err := f.records.PutEvents(ctx, f.namespace, next, f.revision)
	if f.known = err == nil; err != nil {
		return err
	}
	f.progress, f.revision = next, revision
	f.state.wait(place{f.namespace, noShard}, time.Time{}, nil)
	return nil
}

// bind lets the events count as archived only in the bucket with a mark.
func (f *eventFollow) bind(mark string) {
	if f.mark != mark {
		f.mark, f.known, f.due = mark, false, time.Time{}
	}
}

// load reads how far the events are archived, unless it is known.
func (f *eventFollow) load(ctx context.Context) (err error) {
	if f.known {
		return nil
	}
	if f.progress, f.revision, err = f.records.GetEvents(ctx, f.namespace); err != nil {
		return err
	}
	if !f.progress.IsOf(f.address, f.mark) {
		f.progress = progress.Progress{Archive: f.address, Mark: f.mark}
	}
	if f.progress.Through, err = f.shared(ctx); err != nil {
		return err
	}
	f.known = true
	return nil
}

// shared returns up to which sequence the stream has the events that were archived. After a backup was restored, it may be another one. After a takeover
// by another site whose mirror had not all of it, it has another end. No event that was archived is newer than At.
func (f *eventFollow) shared(ctx context.Context) (uint64, error) {
	stream, filter := f.config.Names.EventStream(), f.config.Names.Events(schedule.Key{Namespace: f.namespace})
	from, to := uint64(1), f.progress.Through+1
	for middle := f.progress.Through; from < to; middle = from + (to-from)/2 {
		next, err := f.bus.Next(ctx, stream, filter, middle)
		if err != nil && !errors.Is(err, bus.ErrNone) {
			return 0, err
		}
		if err != nil || next.Sequence > f.progress.Through || eventOf(&next, f.progress.At).Time.After(f.progress.At) {
			to = middle
			continue
		}
		from = next.Sequence + 1
	}
	return from - 1, nil
}

// part are events that are archived together, in the order of their stream.
type part struct {
	first, last uint64
	// at is the newest time of them.
	at     time.Time
	events []archive.Event
}

// due returns when a part that begins with the events of this one may be made.
func (p *part) due(now time.Time, age time.Duration) time.Time {
	if len(p.events) == 0 {
		return now.Add(min(age, time.Minute))
	}
	return p.events[0].Time.Add(age)
}

// read reads the next part.
func (f *eventFollow) read(ctx context.Context) (*part, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	p, size := &part{at: f.progress.At}, 0
	stream, filter := f.config.Names.EventStream(), f.config.Names.Events(schedule.Key{Namespace: f.namespace})
	for from := f.progress.Through + 1; size < partBytes; from = p.last + 1 {
		found, err := f.bus.Subject(ctx, stream, filter, from, pageSize)
		if err != nil || len(found) == 0 {
			return p, err
		}
		for i := range found {
			p.add(&found[i])
			if size += len(found[i].Data); size >= partBytes {
				break
			}
		}
	}
	return p, nil
}

func (p *part) add(m *bus.Message) {
	e := eventOf(m, p.at)
	p.events, p.first, p.last = append(p.events, e), cmp.Or(p.first, m.Sequence), m.Sequence
	if e.Time.After(p.at) {
		p.at = e.Time
	}
}

// kindUnreadable is the kind of an event that cannot be read.
const kindUnreadable = "unreadable"

// eventOf returns the event of a message. One that cannot be read belongs to no schedule, and counts as of the time of the one before it. Its bytes are kept.
func eventOf(m *bus.Message, before time.Time) archive.Event {
	var e schedule.Event
	if err := json.Unmarshal(m.Data, &e); err == nil {
		return archive.Event{ScheduleID: e.ScheduleID, Kind: string(e.Kind), Time: e.Time, JSON: m.Data, Sequence: m.Sequence}
	}
	text, _ := json.Marshal(map[string]any{"unreadable": m.Data, "subject": m.Subject}) // bytes and text can be encoded
	return archive.Event{Kind: kindUnreadable, Time: before, JSON: text, Sequence: m.Sequence}
}

// group are the events of a part that go into one object.
type group struct {
	day, scheduleID string
	events          []archive.Event
}

// groups divides a part by days and schedules, in this order.
func (p *part) groups() (all []*group) {
	of := map[[2]string]*group{}
	for _, e := range p.events {
		key := [2]string{archive.DayOf(e.Time), e.ScheduleID}
		if of[key] == nil {
			of[key] = &group{day: key[0], scheduleID: key[1]}
			all = append(all, of[key])
		}
		of[key].events = append(of[key].events, e)
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(strings.Compare(a.day, b.day), strings.Compare(a.scheduleID, b.scheduleID))
	})
	return all
}

// save writes a part: the events of each schedule and day that are not archived, and then, for each day, where they are. To write it again does no harm.
func (f *eventFollow) save(ctx context.Context, in *bucket, p *part) error {
	left, err := f.leave(ctx, in, p)
	if err != nil {
		return err
	}
	saved := make([]archive.Events, len(left.groups))
	err = eachGroup(ctx, left.groups, func(ctx context.Context, i int, g *group) (err error) {
		saved[i], err = f.saveGroup(ctx, in, g, left.sequence)
		return err
	})
	if err != nil {
		return err
	}
	return f.saveIndexes(ctx, in, left.sequence, left.index(saved))
}

// eachGroup does something for all groups, several at a time.
func eachGroup(ctx context.Context, groups []*group, do func(ctx context.Context, i int, g *group) error) error {
	all, limited := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for i, g := range groups {
		all.Go(func() error { return do(limited, i, g) })
	}
	return all.Wait()
}

// saveIndexes writes, for each day, where the events are of the part that begins at a sequence. They are in the order of their days.
func (f *eventFollow) saveIndexes(ctx context.Context, in *bucket, sequence uint64, saved []archive.Events) error {
	for len(saved) > 0 {
		day := saved[0].Day
		n := slices.IndexFunc(saved, func(e archive.Events) bool { return e.Day != day })
		if n < 0 {
			n = len(saved)
		}
		err := in.within(ctx, f.config.writeLimit, func(ctx context.Context) error { return in.SaveEventIndex(ctx, f.namespace, day, sequence, saved[:n]) })
		if err != nil {
			return err
		}
		saved = saved[n:]
	}
	return nil
}

// saveGroup writes the events of a schedule and a day.
func (f *eventFollow) saveGroup(ctx context.Context, in *bucket, g *group, sequence uint64) (archive.Events, error) {
	e, data, err := archive.EncodeEvents(f.namespace, g.scheduleID, g.day, sequence, g.events)
	if err != nil {
		return e, err
	}
	if err := f.runs.Wait(ctx); err != nil {
		return e, err
	}
	if err := f.bytes.WaitN(ctx, min(len(data), f.bytes.Burst())); err != nil {
		return e, err
	}
	limit := f.config.writeLimit + time.Duration(len(data))*time.Second/slowest
	if err := in.within(ctx, limit, func(ctx context.Context) error { return in.Put(ctx, e.Object, data) }); err != nil {
		return e, err
	}
	metrics.ArchiveBytes.Add(ctx, len(data), f.namespace)
	return e, nil
}
