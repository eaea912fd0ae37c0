package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

const (
	// maxQueues bounds the task queues that one description looks at.
	maxQueues = 3
	// aroundWait bounds the wait for facts that a description can do without.
	aroundWait = 2 * time.Second
)

// surroundings are the facts that a full description needs in addition to the records.
type surroundings struct {
	// warnings are about the spec.
	warnings []prose.Warning
	// zone is the set of rules by which this process reads the spec.
	zone wire.ZoneRules
	// freeze is the freeze of the namespace; nil if it is not frozen now.
	freeze *schedule.Freeze
	// queues has the status of the task queues that the runs in progress were sent to.
	queues map[string]taskqueue.Status
	// deadLetter, replayed and noWorker are the last events of those kinds; nil if there is none.
	deadLetter, replayed, noWorker *schedule.Event
}

// sight is what a full description shows, and what it is derived from.
type sight struct {
	def     wire.Definition
	records records
	// events are the last events of some kinds. A kind without events is missing.
	events map[schedule.EventKind]*schedule.Event
}

// look reads what a full description needs to know about a schedule, all of it concurrently.
func (s *Service) look(ctx context.Context, key schedule.Key) (*sight, error) {
	var seen sight
	err := sideBySide(
		func() error {
			batch, backfills, err := kv.ReadWhole(ctx, s.store, key)
			if err != nil {
				return err
			}
			if seen.def, seen.records, err = s.schedule(ctx, batch, key); err != nil {
				return err
			}
			seen.records.backfills, err = s.backfillsIn(ctx, batch, backfills, key)
			return err
		},
		func() error {
			seen.events = s.lastEvents(ctx, key, schedule.EventDeadLetter, schedule.EventReplayed, schedule.EventNoWorker)
			return nil
		},
	)
	return &seen, err
}

// lookAround finds out what a full description needs in addition to seen. A task queue that cannot be read is left out: describe
// is called most of all when something is wrong.
func (s *Service) lookAround(ctx context.Context, seen *sight) *surroundings {
	around := &surroundings{
		warnings:   s.warned.about(&seen.def, &seen.records.generator, s.now()),
		zone:       wire.ZoneRulesOf(seen.def.Schedule.Spec.AsStored()),
		deadLetter: seen.last(schedule.EventDeadLetter), replayed: seen.last(schedule.EventReplayed),
	}
	if namespace, known := s.Registry.Known(seen.def.Namespace); known && namespace.Freeze.Covers(s.now()) {
		around.freeze = namespace.Freeze
	}
	if queues := queuesInUse(&seen.def, &seen.records.invoker); len(queues) > 0 {
		ctx, cancel := context.WithTimeout(ctx, aroundWait)
		defer cancel()
		around.noWorker = seen.last(schedule.EventNoWorker)
		around.queues = s.lookAt(ctx, seen.def.Key(), queues)
	}
	return around
}

// last returns the last event of a kind since the schedule was created; nil if there is none.
func (s *sight) last(kind schedule.EventKind) *schedule.Event {
	event := s.events[kind]
	if event == nil || event.Time.Before(s.def.CreateTime) {
		return nil // of an earlier schedule with the same ID
	}
	return event
}

// backfillsIn returns the triggers and backfills of a schedule in a batch. A record that cannot be read is left out and logged.
func (s *Service) backfillsIn(
	ctx context.Context, batch *kv.Batch, keys []kv.Key[wire.BackfillState], key schedule.Key,
) ([]wire.BackfillState, error) {
	var all []wire.BackfillState
	for _, k := range keys {
		record, err := kv.From(ctx, batch, k)
		switch {
		case errors.Is(err, kv.ErrNotFound):
		case errors.Is(err, kv.ErrCorrupt):
			s.logFor(key).ErrorContext(ctx, "backfill left out of a description", "error", err)
		case err != nil:
			return nil, err
		default:
			all = append(all, record.Value)
		}
	}
	return all, nil
}

// lastEvents reads the last events of some kinds. What cannot be read is left out and logged.
func (s *Service) lastEvents(
	ctx context.Context, key schedule.Key, kinds ...schedule.EventKind,
) map[schedule.EventKind]*schedule.Event {
	brief, cancel := context.WithTimeout(ctx, aroundWait)
	defer cancel()
	subjects := make([]string, len(kinds))
	for i, kind := range kinds {
		subjects[i] = s.names.Event(key, kind)
	}
	// A remainder, which exists only for events larger than any of these, is left out too.
	messages, _, err := s.readers.Of(s.store.ShardOf(key)).Last(brief, s.names.EventStream(), subjects...)
	if err != nil {
		s.logFor(key).WarnContext(ctx, "events left out of a description", "error", err)
	}
	last := map[schedule.EventKind]*schedule.Event{}
	for _, msg := range messages {
		var event schedule.Event
		if err := json.Unmarshal(msg.Data, &event); err != nil {
			s.logFor(key).WarnContext(ctx, "event left out of a description", "subject", msg.Subject, "error", err)
			continue
		}
		last[event.Kind] = &event
	}
	return last
}

// queuesInUse returns the task queues that runs in progress were sent to, the most recent first. Those of workflows are others.
func queuesInUse(def *wire.Definition, invoker *wire.InvokerState) []string {
	if invoker.Incarnation != def.Incarnation {
		return nil
	}
	var queues []string
	for _, s := range slices.Backward(running(invoker.Starts)) {
		if s.TaskQueue != "" && !s.ActionKind.IsWorkflow() && !slices.Contains(queues, s.TaskQueue) && len(queues) < maxQueues {
			queues = append(queues, s.TaskQueue)
		}
	}
	return queues
}

// lookAt reads the status of task queues. A queue that cannot be read is left out and logged.
func (s *Service) lookAt(ctx context.Context, key schedule.Key, queues []string) map[string]taskqueue.Status {
	found := map[string]taskqueue.Status{}
	for _, queue := range queues {
		status, err := s.queue(ctx, key.Namespace, queue)
		if err != nil {
			s.logFor(key).WarnContext(ctx, "task queue left out of a description", "task_queue", queue, "error", err)
			continue
		}
		found[queue] = status
	}
	return found
}
