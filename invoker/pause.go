package invoker

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// pausedBy is the identity of a pause that no person made.
const pausedBy = "pause on failure"

// pauseGuard is how long after a crash at the worst moment the event of a pause is published.
const pauseGuard = 10 * time.Second

// pause writes pause-on-failure into the definition, as a frontend makes a change (decision 32). The event is part of the definition, so
// the generator stores it too. Even if the record of the invoker is never written, the pause stands. If another process has changed the
// definition, the next attempt reads it again and pauses then.
func (s *session) pause(ctx context.Context, event schedule.Event) error {
	d := s.definition.Value
	d.Version++
	d.Schedule.State.Paused, d.Schedule.State.Notes = true, event.Reason
	d.PausedBy, d.PauseTime = pausedBy, event.Time
	d.Events = append(slices.Clone(d.Events), wire.DefinitionEvent{Version: d.Version, Event: event})
	shard, names := s.shard(), s.config.Names
	guard := names.GuardTimer(shard, s.key, d.Version)
	err := task.Arm(ctx, s.config.Bus, guard, names.GenerateGuard(shard, s.key, d.Version),
		s.config.Now().Add(pauseGuard),
		&wire.Wake{Version: d.Version, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(pauseGuard)})
	if err != nil {
		return err
	}
	revision, err := kv.Put(ctx, s.config.Store, kv.Definition(s.key), &d, s.definition.Revision)
	if err != nil {
		return err
	}
	s.definition = kv.Record[wire.Definition]{Value: d, Revision: revision}
	if err := s.events.Publish(ctx, event); err != nil {
		return err
	}
	return task.PublishAndPurge(ctx, s.config.Bus, names.GenerateWake(shard, s.key, d.Version), guard,
		s.wake(wire.ReasonPaused))
}
