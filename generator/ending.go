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

// forget removes what the generator keeps of a schedule that is gone: its record and its timer. The record says that
// there is still something to forget, so it goes last; before it the invoker is told, in case that who deleted the
// schedule did not live to.
//
// Meanwhile a new schedule of the same ID may have come. Its record then conflicts, and the next attempt arms the timer
// that this one has removed. Without a record there may be a timer: who armed it was refused the record.
//
// The event of a deletion is for who has deleted it to store, who knows more about it. Its guard stands until that is done, and
// what comes before leaves the record to it.
func (p *Pool) forget(ctx context.Context, key schedule.Key, wakes []wire.Wake) error {
	record, err := kv.OrZero(kv.GetLeader(ctx, p.config.Store, kv.Generator(key)))
	if err != nil {
		return err
	}
	// Both before the schedule is known to be gone, so that they are not those of a new one.
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

// deletedOnes are the schedules of an ID that were there and are not any more: that of the record, and those that whoever has
// deleted them names. The record may be of an earlier one. That of a trace in the making (kv.LeaveTrace) names none.
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

// guarded reports whether there is a guard of any version.
func (p *Pool) guarded(ctx context.Context, key schedule.Key) (bool, error) {
	shard := p.config.Store.ShardOf(key)
	n, err := p.config.Bus.Subjects(ctx, p.config.Names.TaskStream(shard), p.config.Names.GuardTimers(shard, key))
	return n > 0, err
}

// armed is the sequence of the timer of a schedule, 0 if there is none.
func (p *Pool) armed(ctx context.Context, key schedule.Key) (uint64, error) {
	shard := p.config.Store.ShardOf(key)
	timer, err := p.config.Bus.Last(ctx, p.config.Names.TaskStream(shard), p.config.Names.DueTimer(shard, key))
	if errors.Is(err, bus.ErrNone) {
		return 0, nil
	}
	return timer.Sequence, err
}

// disarm removes that timer and no later one, which may be that of a new schedule of the same ID.
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
	// Whatever definition a lagging replica still has, it is older than its deletion.
	wake := &wire.Wake{Version: math.MaxUint64, Reason: wire.ReasonDeleted}
	return task.Publish(ctx, p.config.Bus, p.config.Names.InvokeDeleted(p.config.Store.ShardOf(key), key), wake)
}

// tellBackfiller makes the backfiller forget the triggers and backfills of a schedule that is gone. Whoever wrote their
// records may not have lived to wake it.
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

// errClosing asks the leader once more: the definition says now that the schedule is about to be closed.
var errClosing = fmt.Errorf("%w: generator: before it closes a schedule", kv.ErrUnconfirmed)

// close ends an exhausted schedule: the definition goes, then all that is kept of it. The trace of the definition says so: whoever
// finds it tells of the closing, should this process not live to. Nothing is told before, since the deletion may be refused. No request
// has deleted the schedule, so the last one that has deleted a schedule of the ID is remembered still.
//
// The definition has said that before the last look. A trigger or backfill is stored beside it: one that was stored before is seen by
// that look, and a frontend that has stored one later finds the mark, and takes it away, or finds that the schedule is gone.
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
	note := kv.Note{Deletion: d.Predecessor, Closed: d.Incarnation}
	if err := kv.DeleteNoting(ctx, p.config.Store, kv.Definition(d.Key()), definition.Revision, note); err != nil {
		return err
	}
	if err := p.events.Publish(ctx, p.closed(d.Key(), d.Incarnation)); err != nil {
		return err
	}
	told := wire.Wake{Incarnation: d.Incarnation, Reason: wire.ReasonDeleted, Told: true}
	return p.forget(ctx, d.Key(), []wire.Wake{told})
}

// publishEnding stores the event of an end, unless the history tells of the end of that schedule already: that it was closed, if that is
// what the trace says, or that it was deleted. The latter names the request, by which a repeat of that is recognised later.
func (p *Pool) publishEnding(ctx context.Context, key schedule.Key, incarnation string, wakes []wire.Wake) error {
	for _, wake := range wakes {
		if wake.Reason == wire.ReasonDeleted && wake.Incarnation == incarnation && wake.Told {
			return nil
		}
	}
	closed := p.closed(key, incarnation)
	deleted := p.ending(key, schedule.EventDeleted, wire.DeletedEventID(incarnation))
	for _, event := range []*schedule.Event{&closed, &deleted} {
		if stored, err := p.events.IsLast(ctx, event); stored || err != nil {
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
