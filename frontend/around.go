package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/leader"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

const (
	// maxQueues bounds the task queues that are looked at for one description.
	maxQueues = 3
	// aroundWait bounds the wait for what a description can do without.
	aroundWait = 2 * time.Second
)

// surroundings are what a full description needs beside the records.
type surroundings struct {
	// warnings are those about the spec.
	warnings []specproc.Warning
	// queues are how the task queues are that runs in progress were sent to.
	queues map[string]taskqueue.Status
	// deadLetter, replayed and noWorker are the last events of those kinds; nil where there is none.
	deadLetter, replayed, noWorker *schedule.Event
}

// lookAround finds out what a full description needs, and adds the backfills to the records. What cannot be found out of
// task queues and events is left out: describe is asked most of all when something is wrong.
func (a *api) lookAround(ctx context.Context, def *schedule.Definition, all *records) (*surroundings, error) {
	around := &surroundings{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		all.backfills, err = a.backfills(ctx, def.Key())
		return err
	})
	brief, cancel := context.WithTimeout(ctx, aroundWait)
	defer cancel()
	last := func(kind schedule.EventKind, into **schedule.Event) {
		group.Go(func() error {
			*into = a.lastEvent(brief, def, kind)
			return nil
		})
	}
	last(schedule.EventDeadLetter, &around.deadLetter)
	last(schedule.EventReplayed, &around.replayed)
	if queues := queuesInUse(def, &all.invoker); len(queues) > 0 {
		last(schedule.EventNoWorker, &around.noWorker)
		group.Go(func() error {
			around.queues = a.lookAt(brief, def.Key(), queues)
			return nil
		})
	}
	around.warnings = specproc.Warnings(def.Schedule.Spec, a.now())
	return around, group.Wait()
}

// backfills reads the records of the triggers and backfills of a schedule. One that cannot be read is left out and logged.
func (a *api) backfills(ctx context.Context, key schedule.Key) ([]schedule.BackfillState, error) {
	keys, err := kv.Backfills(ctx, a.store, key)
	if err != nil {
		return nil, err
	}
	var all []schedule.BackfillState
	for _, k := range keys {
		record, err := kv.Get(ctx, a.store, k)
		switch {
		case errors.Is(err, kv.ErrNotFound):
		case errors.Is(err, kv.ErrCorrupt):
			a.logFor(key).ErrorContext(ctx, "backfill left out of a description", "error", err)
		case err != nil:
			return nil, err
		default:
			all = append(all, record.Value)
		}
	}
	return all, nil
}

// lastEvent returns the last event of a kind since the schedule was created, nil if there is none.
func (a *api) lastEvent(ctx context.Context, def *schedule.Definition, kind schedule.EventKind) *schedule.Event {
	msg, err := a.bus.Last(ctx, a.names.EventStream(), a.names.Event(def.Key(), kind))
	if errors.Is(err, leader.ErrNone) {
		return nil
	}
	var event schedule.Event
	if err == nil {
		err = json.Unmarshal(msg.Data, &event)
	}
	if err != nil {
		a.logFor(def.Key()).WarnContext(ctx, "event left out of a description", "kind", string(kind), "error", err)
		return nil
	}
	if event.Time.Before(def.CreateTime) {
		return nil // that of an earlier schedule of the same ID
	}
	return &event
}

// queuesInUse returns the task queues that runs in progress were sent to, the most recent first.
func queuesInUse(def *schedule.Definition, invoker *schedule.InvokerState) []string {
	if invoker.Incarnation != def.Incarnation {
		return nil
	}
	var queues []string
	for _, s := range slices.Backward(running(invoker.Starts)) {
		if s.TaskQueue != "" && !slices.Contains(queues, s.TaskQueue) && len(queues) < maxQueues {
			queues = append(queues, s.TaskQueue)
		}
	}
	return queues
}

// lookAt looks at task queues. One that cannot be looked at is left out and logged.
func (a *api) lookAt(ctx context.Context, key schedule.Key, queues []string) map[string]taskqueue.Status {
	found := map[string]taskqueue.Status{}
	for _, queue := range queues {
		status, err := a.queue(ctx, key.Namespace, queue)
		if err != nil {
			a.logFor(key).WarnContext(ctx, "task queue left out of a description", "task_queue", queue, "error", err)
			continue
		}
		found[queue] = status
	}
	return found
}
