package generator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// forget removes the record and the timer of a schedule that is gone. It tells the invoker first, since the process that deleted the
// schedule may have died before it could. The record goes last, because it says that there is still something to forget.
//
// Meanwhile a new schedule with the same ID may have been created. Then the removal of the record conflicts, and the next attempt arms the
// timer again that this one has removed. There may be a timer without a record, if the process that armed it could not write the record.
//
// Whoever deletes the schedule stores its deletion event; they know the reason. The guard of the deletion stands until they have done so.
// While it stands, other messages leave the record alone.
func (p *Pool) forget(ctx context.Context, key schedule.Key, wakes []wire.Wake) error {
	record, err := kv.OrZero(kv.GetLeader(ctx, p.config.Store, kv.Generator(key)))
	if err != nil {
		return err
	}
	// Read record and timer before making sure that the schedule is gone, so that they cannot belong to a new schedule.
	timer, err := p.armed(ctx, key)
	if err != nil {
		return err
	}
	if err := kv.EnsureGone(ctx, p.config.Store, key); err != nil {
		return err
	}
	deleted := slices.ContainsFunc(wakes, func(w wire.Wake) bool { return w.Reason == wire.ReasonDeleted })
	if record.Revision != 0 && !deleted {
		if guarded, err := p.guarded(ctx, key); guarded || err != nil {
			return err
		}
	}
	if err := p.tellInvoker(ctx, key); err != nil {
		return err
	}
	for _, incarnation := range deletedOnes(&record.Value, wakes) {
		if err := p.publishEnding(ctx, key, incarnation, wakes); err != nil {
			return err
		}
	}
	if record.Revision == 0 {
		if err := kv.LeaveTrace(ctx, p.config.Store, kv.Generator(key)); err != nil {
			return err
		}
		return p.disarm(ctx, key, timer)
	}
	if err := p.tellBackfiller(ctx, key); err != nil {
		return err
	}
	if err := p.disarm(ctx, key, timer); err != nil {
		return err
	}
	return kv.Delete(ctx, p.config.Store, kv.Generator(key), record.Revision)
}

// deletedOnes returns the incarnations of deleted schedules with one ID: the one in the record, and those that messages about deletions
// name. The record may belong to an earlier schedule. A record that is about to become a trace (kv.LeaveTrace) names none.
func deletedOnes(record *wire.GeneratorState, wakes []wire.Wake) []string {
	all := []string{record.Incarnation}
	for _, wake := range wakes {
		if wake.Reason == wire.ReasonDeleted || wake.Reason == wire.ReasonGuard {
			all = append(all, wake.Incarnation)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(incarnation string) bool { return incarnation == "" })
}

// guarded reports whether the guard of any version is armed.
func (p *Pool) guarded(ctx context.Context, key schedule.Key) (bool, error) {
	shard := p.config.Store.ShardOf(key)
	n, err := p.config.Bus.Subjects(ctx, p.config.Names.TaskStream(shard), p.config.Names.GuardTimers(shard, key))
	return n > 0, err
}

// armed returns the sequence of the timer of a schedule, or 0 if there is none.
func (p *Pool) armed(ctx context.Context, key schedule.Key) (uint64, error) {
	shard := p.config.Store.ShardOf(key)
	timer, err := p.config.Bus.Last(ctx, p.config.Names.TaskStream(shard), p.config.Names.DueTimer(shard, key))
	if errors.Is(err, bus.ErrNone) {
		return 0, nil
	}
	return timer.Sequence, err
}

// disarm removes the timer with that sequence, but no later timer, which may belong to a new schedule with the same ID.
func (p *Pool) disarm(ctx context.Context, key schedule.Key, timer uint64) error {
	if timer == 0 {
		return nil
	}
	if err := p.config.Bus.Remove(ctx, p.config.Names.TaskStream(p.config.Store.ShardOf(key)), timer); err != nil {
		return fmt.Errorf("generator: remove timer of %s: %w", key, err)
	}
	return nil
}

// tellInvoker makes the invoker forget a schedule that is gone.
func (p *Pool) tellInvoker(ctx context.Context, key schedule.Key) error {
	// A lagging replica may still have a definition. The version says that any definition is older than the deletion.
	wake := &wire.Wake{Version: math.MaxUint64, Reason: wire.ReasonDeleted}
	return task.Publish(ctx, p.config.Bus, p.config.Names.InvokeDeleted(p.config.Store.ShardOf(key), key), wake)
}

// tellBackfiller makes the backfiller forget the triggers and backfills of a schedule that is gone. The process that wrote their records
// may have died before it could wake the backfiller.
func (p *Pool) tellBackfiller(ctx context.Context, key schedule.Key) error {
	requests, err := kv.Backfills(ctx, p.config.Store, key)
	if err != nil {
		return err
	}
	return p.wakeBackfiller(ctx, key, requests, &wire.Wake{Version: math.MaxUint64, Reason: wire.ReasonDeleted})
}

// wakeBackfiller makes the backfiller look at requests.
func (p *Pool) wakeBackfiller(
	ctx context.Context, key schedule.Key, requests []kv.Key[wire.BackfillState], wake *wire.Wake,
) error {
	shard := p.config.Store.ShardOf(key)
	for _, request := range requests {
		if err := task.Publish(ctx, p.config.Bus, p.config.Names.Backfill(shard, key, kv.BackfillID(request)), wake); err != nil {
			return err
		}
	}
	return nil
}

// errClosing makes the next attempt ask the leader: the definition now says that the schedule is about to be closed.
var errClosing = fmt.Errorf("%w: generator: before it closes a schedule", kv.ErrUnconfirmed)

// close ends an exhausted schedule. It works in steps:
//
//  1. It marks the definition as closing, and looks at everything once more. It sees each trigger or backfill that was stored before the
//     mark. A frontend that stores one later finds the mark and removes it, or finds that the schedule is gone.
//  2. It deletes the definition, which may be refused. The trace of the definition says that the schedule was closed, so another process
//     can report the closing if this one dies. The trace still names the last deletion of a schedule with this ID by a request.
//  3. It stores the event of the closing.
//  4. It forgets the rest.
func (p *Pool) close(ctx context.Context, definition kv.Record[wire.Definition]) error {
	if !definition.Value.Closing {
		marked := definition.Value
		marked.Closing = true
		if _, err := kv.Put(ctx, p.config.Store, kv.Definition(marked.Key()), &marked, definition.Revision); err != nil {
			return err
		}
		return errClosing
	}
	d := &definition.Value
	note := kv.Note{Deletion: d.Predecessor.Carried(), Closed: d.Incarnation}
	if err := kv.DeleteNoting(ctx, p.config.Store, kv.Definition(d.Key()), definition.Revision, note); err != nil {
		return err
	}
	if err := p.events.Publish(ctx, p.closed(d.Key(), d.Incarnation)); err != nil {
		return err
	}
	told := wire.Wake{Incarnation: d.Incarnation, Reason: wire.ReasonDeleted, Told: true}
	return p.forget(ctx, d.Key(), []wire.Wake{told})
}

// publishEnding stores the event of the end of a schedule, unless the history has it already. Later schedules with the same ID may have
// ended since then, so the event need not be the last of its kind. The schedule was closed if the trace says so; otherwise it was deleted.
// The event of a deletion names the request, by which a repeat of the request is recognised later.
func (p *Pool) publishEnding(ctx context.Context, key schedule.Key, incarnation string, wakes []wire.Wake) error {
	for _, wake := range wakes {
		if wake.Reason == wire.ReasonDeleted && wake.Incarnation == incarnation && wake.Told {
			return nil
		}
	}
	closed := p.closed(key, incarnation)
	deleted := p.ending(key, schedule.EventDeleted, wire.DeletedEventID(incarnation))
	for _, event := range []*schedule.Event{&closed, &deleted} {
		if stored, err := p.events.IsStored(ctx, event); stored || err != nil {
			return err
		}
	}
	last, err := kv.LastEnding(ctx, p.config.Store, key)
	if err != nil {
		return err
	}
	if last.Closed == incarnation {
		return p.events.Publish(ctx, closed)
	}
	if last.Deletion != nil && last.Deletion.Incarnation == incarnation {
		deleted.RequestID = last.Deletion.RequestID
	}
	return p.events.Publish(ctx, deleted)
}

func (p *Pool) closed(key schedule.Key, incarnation string) schedule.Event {
	event := p.ending(key, schedule.EventClosed, wire.ClosedEventID(incarnation))
	event.Reason = "no time and no action left for the idle time"
	return event
}

func (p *Pool) ending(key schedule.Key, kind schedule.EventKind, id string) schedule.Event {
	return schedule.Event{ID: id, Time: p.config.Now().UTC(), Namespace: key.Namespace, ScheduleID: key.ID, Kind: kind}
}
