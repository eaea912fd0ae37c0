package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// reader makes snapshots. It is safe for concurrent use.
type reader struct {
	bus     bus.Bus
	buckets kv.Buckets
	streams Streams
	store   *kv.Store
	names   subjects.Names
	letters Letters
	// executions may be nil.
	executions Executions
	// journals and executing are nil if workflows are not looked at.
	journals  *journal.Journals
	executing bus.Streams
	// spaces is nil if nothing is known about namespaces.
	spaces *namespaces.Records
	// rebuilt is as in Config.
	rebuilt bool
	now     func() time.Time
}

// get reads an entry of a bucket.
type get func(ctx context.Context, bucket, key string) (kv.Entry, error)

// snapshot reads what a survey has found of a schedule. It reads the records by the given function.
//
// It reads the records before it looks for runs, because the invoker's record lists the runs.
func (r *reader) snapshot(ctx context.Context, get get, v *survey, key schedule.Key) (Snapshot, error) {
	l := v.of(key)
	s := Snapshot{Key: key, Bucket: r.names.StateBucket(v.shard), Timers: l.timers}
	if err := r.tasks(ctx, v, l, &s); err != nil {
		return s, err
	}
	if err := r.records(ctx, get, l, &s); err != nil {
		return s, err
	}
	if err := r.runs(ctx, v.shard, &s); err != nil {
		return s, err
	}
	if s.Definition.legible() && !s.generatorKnown() {
		var err error
		if s.LastTold, err = r.lastTold(ctx, &s.Definition.Value); err != nil {
			return s, err
		}
	}
	if until, late := s.beginsLate(); s.Definition.legible() && late {
		var err error
		if s.Untold, err = r.untold(ctx, &s.Definition.Value, until); err != nil {
			return s, err
		}
	}
	s.Now = r.now()
	return s, nil
}

func (s *Snapshot) generatorKnown() bool {
	return s.Generator.legible() && s.Generator.Value.Incarnation == s.Definition.Value.Incarnation
}

func (r *reader) tasks(ctx context.Context, v *survey, l *listing, s *Snapshot) error {
	for _, subject := range l.tasks {
		parsed, err := r.names.ParseTask(subject)
		if err != nil {
			continue
		}
		task := Task{Task: parsed, Subject: subject}
		stream := r.names.StreamOf(parsed)
		stored, err := r.bus.Last(ctx, stream, subject)
		switch {
		case errors.Is(err, bus.ErrNone): // done in the meantime; whoever did it may be about to take the next step
		case err != nil:
			return err
		default:
			task.Sequence, task.Passed = stored.Sequence, stored.Sequence <= v.floors[consumer{stream, parsed.Role.Pool()}]
		}
		s.Tasks = append(s.Tasks, task)
	}
	return nil
}

// records reads the records of a schedule, including those of the backfills that anything names.
func (r *reader) records(ctx context.Context, get get, l *listing, s *Snapshot) error {
	err := errors.Join(
		read(ctx, get, s.Bucket, kv.Generator(s.Key).String(), &s.Generator),
		read(ctx, get, s.Bucket, kv.Invoker(s.Key).String(), &s.Invoker),
		read(ctx, get, s.Bucket, kv.Result(s.Key).String(), &s.Result),
		read(ctx, get, s.Bucket, kv.Definition(s.Key).String(), &s.Definition),
	)
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, id := range l.backfills {
		ids[id] = true
	}
	for i := range l.timers {
		if l.timers[i].Kind == timerBackfill {
			ids[l.timers[i].What] = true
		}
	}
	if s.Invoker.legible() {
		for source := range s.Invoker.Value.Sources {
			ids[source] = source != schedule.SourceAuto
		}
	}
	s.Backfills = map[string]Stored[wire.BackfillState]{}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if !ids[id] {
			continue
		}
		var record Stored[wire.BackfillState]
		if err := read(ctx, get, s.Bucket, kv.Backfill(s.Key, id).String(), &record); err != nil {
			return err
		}
		s.Backfills[id] = record
	}
	return nil
}

// read reads one record. A record that is missing or cannot be decoded is no error.
func read[T any](ctx context.Context, get get, bucket, key string, into *Stored[T]) error {
	entry, err := get(ctx, bucket, key)
	if errors.Is(err, kv.ErrNotFound) {
		*into = Stored[T]{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("consistency: read %s: %w", key, err)
	}
	*into = Stored[T]{Revision: entry.Revision}
	into.Err = codec.Unmarshal(entry.Data, &into.Value)
	into.Foreign = into.Err != nil && len(entry.Data) > 0 && entry.Data[0] != codec.FormatVersion
	return nil
}

// lastTold returns when the invoker last stored an event about a start of a schedule. The invoker does that when it takes over
// the start, or a moment later.
func (r *reader) lastTold(ctx context.Context, d *wire.Definition) (time.Time, error) {
	var last time.Time
	for _, kind := range []schedule.EventKind{schedule.EventStarted, schedule.EventDeferred, schedule.EventSkipped} {
		at, err := r.lastEvent(ctx, d, kind)
		if err != nil {
			return time.Time{}, err
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

// lastEvent returns when an event of a kind last happened to a schedule; zero if there is none.
func (r *reader) lastEvent(ctx context.Context, d *wire.Definition, kind schedule.EventKind) (time.Time, error) {
	stored, err := r.bus.Last(ctx, r.names.EventStream(), r.names.Event(d.Key(), kind))
	if errors.Is(err, bus.ErrNone) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	var event schedule.Event
	if json.Unmarshal(stored.Data, &event) != nil || !event.IsOf(d.Incarnation) {
		return time.Time{}, nil
	}
	return event.Time, nil
}
