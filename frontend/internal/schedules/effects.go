package schedules

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// effect publishes a message that follows a write.
type effect func(context.Context) error

// follow publishes everything that follows a write, concurrently, and returns when each message is stored or has failed. It only
// logs failures: the write stands and is answered as such, and the guard does what the wake should have done.
func (s *Service) follow(ctx context.Context, key schedule.Key, effects ...effect) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, publish := range effects {
		running.Go(func() {
			if err := publish(ctx); err != nil {
				s.logFor(key).WarnContext(ctx, "change made, message about it not stored", "error", err)
			}
		})
	}
}

func (s *Service) wakeGenerator(key schedule.Key, wake wire.Wake) effect {
	shard := s.store.ShardOf(key)
	return s.wake(s.names.GenerateWake(shard, key, wake.Version), s.names.GuardTimer(shard, key, wake.Version), wake)
}

// tellAndWake stores the events of one version of a definition and wakes the generator. If the events were stored, the generator
// need not store them again; otherwise it does. The wake is published in any case.
func (s *Service) tellAndWake(key schedule.Key, wake wire.Wake, events ...schedule.Event) effect {
	return func(ctx context.Context) error {
		err := s.tell(events...)(ctx)
		wake.Told = err == nil
		return errors.Join(err, s.wakeGenerator(key, wake)(ctx))
	}
}

func (s *Service) wakeInvoker(key schedule.Key, wake wire.Wake) effect {
	return s.wake(s.names.InvokeWake(s.store.ShardOf(key), key), "", wake)
}

func (s *Service) wakeInvokerToForget(key schedule.Key, wake wire.Wake) effect {
	return s.wake(s.names.InvokeDeleted(s.store.ShardOf(key), key), "", wake)
}

func (s *Service) wakeBackfill(key schedule.Key, id string, wake wire.Wake) effect {
	shard := s.store.ShardOf(key)
	return s.wake(s.names.Backfill(shard, key, id), s.names.BackfillTimer(shard, key, id), wake)
}

// handOff hands a start over to the invoker, in the trace of the request that asked for it.
func (s *Service) handOff(e *wire.Enqueue, key schedule.Key, trace string) effect {
	subject := s.names.InvokeEnqueue(s.store.ShardOf(key), key, e.Source, e.Span)
	return func(ctx context.Context) error {
		return task.Publish(telemetry.WithTraceparent(ctx, trace), s.bus, subject, e)
	}
}

// wake publishes a wake on a task subject. Storing it removes the guard.
func (s *Service) wake(subject, guard string, wake wire.Wake) effect {
	return func(ctx context.Context) error {
		return task.PublishAndPurge(ctx, s.bus, subject, guard, &wake)
	}
}

// armGuard arms the delayed wake-up of the generator for a version that is about to be written. The wake that follows the write
// removes it. The guard is for whatever schedule exists when it fires. The incarnation is that of a schedule that exists already,
// for a generator that finds none; two creates may arm the same guard.
func (s *Service) armGuard(ctx context.Context, key schedule.Key, incarnation string, version uint64) error {
	shard := s.store.ShardOf(key)
	return s.arm(ctx, s.names.GuardTimer(shard, key, version), s.names.GenerateGuard(shard, key, version),
		wire.Wake{Incarnation: incarnation, Version: version})
}

// armBackfillGuard does the same for the record of a backfill or trigger, which has a timer of its own. Its incarnation keeps the
// backfiller from dropping the record when a replica still shows an earlier schedule.
func (s *Service) armBackfillGuard(ctx context.Context, key schedule.Key, record *wire.BackfillState) error {
	shard := s.store.ShardOf(key)
	return s.arm(ctx, s.names.BackfillTimer(shard, key, record.ID), s.names.Backfill(shard, key, record.ID),
		wire.Wake{Incarnation: record.Incarnation})
}

func (s *Service) arm(ctx context.Context, timerSubject, target string, wake wire.Wake) error {
	wake.Reason, wake.GuardAgain = wire.ReasonGuard, schedule.Duration(s.guardDelay)
	body, err := codec.Marshal(&wake)
	if err != nil {
		return err
	}
	return task.ArmMessage(ctx, s.bus, timerSubject, target, s.now().Add(s.guardDelay), traceHeader(ctx), body)
}

// traceHeader returns a new header with the trace context of ctx.
func traceHeader(ctx context.Context) nats.Header {
	header := nats.Header{}
	telemetry.Inject(ctx, header)
	return header
}

func (s *Service) logFor(key schedule.Key) *slog.Logger {
	return s.log.With("namespace", key.Namespace, "schedule_id", key.ID)
}
