package invoker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// forget removes what the invoker keeps of a schedule that is gone. The runs that its task queue has go the way that the
// deletion says; the completions of those that go on find nothing and are acknowledged. The record goes last: it says that
// there is still something to forget.
func (p *Pool) forget(ctx context.Context, key schedule.Key) error {
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
	before := record.Value // it has the starts that are about to be given up, and may have been published
	if record, err = p.abandon(ctx, key, record); err != nil {
		return err
	}
	events, err := p.unpublished(ctx, record.Value.Outbox)
	if err != nil {
		return err
	}
	ended, err := p.depart(ctx, key, &before, "")
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
	// Another process may hold the completion of a run, and be about to write the first result.
	if err := p.forgetResult(ctx, key, true); err != nil {
		return err
	}
	return kv.Delete(ctx, p.config.Store, kv.Invoker(key), record.Revision)
}

// abandon gives up the starts that a schedule takes with it, and returns the record that says so. The record is written
// before anybody is told: a process that goes by the definition of before may be about to start one of them, and to number
// its own events in the same way. Its write is a conflict then. One that reads the record later is warned by it.
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

// forgetWithout makes sure that a schedule without a record will not get one by a definition that is gone.
func (p *Pool) forgetWithout(ctx context.Context, key schedule.Key) error {
	// Of a release that has left no trace of it.
	if err := p.forgetResult(ctx, key, false); err != nil {
		return err
	}
	if err := kv.EnsureGone(ctx, p.config.Store, key); err != nil {
		return err
	}
	return kv.LeaveTrace(ctx, p.config.Store, kv.Invoker(key))
}

// forgetResult removes the last result. It is read before the schedule is known to be gone, so that it is not that of a new one.
// Where there is none, and one may still come, it leaves the trace of one.
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

// abandoned are the events about the starts that a schedule takes with it. Those that the action stream has taken go on, like
// all runs in progress.
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
