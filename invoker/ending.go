package invoker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// forget removes everything that the invoker keeps of a deleted schedule. Its runs in the task queue are treated as the deletion says.
// Completions of runs that continue find no schedule and are acknowledged. The record goes last, because it says that there is still
// something to forget.
func (p *Pool) forget(ctx context.Context, key schedule.Key, group []loop.Message[Message]) error {
	record, err := kv.GetLeader(ctx, p.config.Store, kv.Invoker(key))
	if errors.Is(err, kv.ErrNotFound) {
		return p.forgetWithout(ctx, key)
	}
	if err != nil {
		return err
	}
	if err := kv.EnsureGone(ctx, p.config.Store, key); err != nil {
		return err
	}
	before := record.Value // it has the starts that will be given up but may have been published
	if record, err = p.abandon(ctx, key, record); err != nil {
		return err
	}
	events, err := p.unpublished(ctx, record.Value.Outbox)
	if err != nil {
		return err
	}
	ended, err := p.depart(ctx, key, &before, group)
	if err != nil {
		return err
	}
	events = append(events, ended...)
	if err := p.events.Publish(ctx, events...); err != nil {
		return err
	}
	shard := p.config.Store.ShardOf(key)
	if err := p.purgeTimer(ctx, shard, p.config.Names.RetryTimer(shard, key)); err != nil {
		return err
	}
	// Another process may have the completion of a run, and be about to write the first result.
	if err := p.forgetResult(ctx, key, true); err != nil {
		return err
	}
	return kv.Delete(ctx, p.config.Store, kv.Invoker(key), record.Revision)
}

// abandon gives up the waiting starts of a deleted schedule, and returns the record that says so. It writes the record before it publishes
// anything about that. A process with the old definition may be about to start one of them, and to number its own events in the same way.
// The write makes that process's write a conflict; a process that reads the record later sees it.
func (p *Pool) abandon(
	ctx context.Context, key schedule.Key, record kv.Record[wire.InvokerState],
) (kv.Record[wire.InvokerState], error) {
	state, since := record.Value, p.wallClock()
	taken, err := p.taken(ctx, key, state.Starts)
	if err != nil {
		return record, err
	}
	gone := abandoned(key, &state, taken, p.config.Now())
	if len(gone) == 0 {
		return record, nil
	}
	state.Starts = slices.DeleteFunc(slices.Clone(state.Starts), func(s wire.BufferedStart) bool { return s.Waiting() })
	state.Outbox, state.Abandoned = slices.Concat(state.Outbox, gone), true
	if err := p.remembered(since); err != nil {
		return record, err
	}
	state.EventSequence += uint64(len(gone))
	revision, err := p.put(ctx, &state, func(ctx context.Context, state *wire.InvokerState) (uint64, error) {
		return kv.Put(ctx, p.config.Store, kv.Invoker(key), state, record.Revision)
	})
	if err != nil {
		return record, err
	}
	dropped := slices.DeleteFunc(slices.Clone(gone), func(e schedule.Event) bool { return e.Kind != schedule.EventDropped })
	metrics.Dropped.Add(ctx, len(dropped), key.Namespace, metrics.DropGone)
	return kv.Record[wire.InvokerState]{Value: state, Revision: revision}, nil
}

// forgetWithout makes sure that a schedule without a record does not get one from a process with the old definition.
func (p *Pool) forgetWithout(ctx context.Context, key schedule.Key) error {
	// An earlier release left no trace of it.
	if err := p.forgetResult(ctx, key, false); err != nil {
		return err
	}
	if err := kv.EnsureGone(ctx, p.config.Store, key); err != nil {
		return err
	}
	return kv.LeaveTrace(ctx, p.config.Store, kv.Invoker(key))
}

// forgetResult removes the last result. It reads the result before it makes sure that the schedule is gone, so the result cannot belong to
// a new schedule. If there is no result but one may still come, it leaves a trace in its place.
func (p *Pool) forgetResult(ctx context.Context, key schedule.Key, mayCome bool) error {
	record, err := kv.OrZero(kv.GetLeader(ctx, p.config.Store, kv.Result(key)))
	if err != nil || record.Revision == 0 && !mayCome {
		return err
	}
	if err := kv.EnsureGone(ctx, p.config.Store, key); err != nil {
		return err
	}
	if record.Revision == 0 {
		return kv.LeaveTrace(ctx, p.config.Store, kv.Result(key))
	}
	return kv.Delete(ctx, p.config.Store, kv.Result(key), record.Revision)
}

// abandoned returns the events about the starts that are given up with their schedule. Starts that the action stream has accepted continue,
// like all runs in progress.
func abandoned(
	key schedule.Key, state *wire.InvokerState, taken map[string]bool, now time.Time,
) []schedule.Event {
	var events []schedule.Event
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Waiting() {
			event := startEvent(schedule.EventDropped, s, wire.GoneReason)
			if taken[s.RequestID] {
				event = startEvent(schedule.EventStarted, s, "")
			}
			event.ID = eventID(state.Incarnation, state.EventSequence+uint64(len(events))+1)
			event.Time, event.Namespace, event.ScheduleID = now.UTC(), key.Namespace, key.ID
			events = append(events, event)
		}
	}
	return events
}

// purgeTimer removes a timer from the task stream of a shard, if it is there.
func (p *Pool) purgeTimer(ctx context.Context, shard int, subject string) error {
	if err := p.config.Bus.Purge(ctx, p.config.Names.TaskStream(shard), subject); err != nil {
		return fmt.Errorf("invoker: remove timer: %w", err)
	}
	return nil
}
