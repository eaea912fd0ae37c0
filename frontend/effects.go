package frontend

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
func (a *api) follow(ctx context.Context, key schedule.Key, effects ...effect) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, publish := range effects {
		running.Go(func() {
			if err := publish(ctx); err != nil {
				a.logFor(key).WarnContext(ctx, "change made, message about it not stored", "error", err)
			}
		})
	}
}

func (a *api) wakeGenerator(key schedule.Key, wake wire.Wake) effect {
	shard := a.store.ShardOf(key)
	return a.wake(a.names.GenerateWake(shard, key, wake.Version), a.names.GuardTimer(shard, key, wake.Version), wake)
}

// tellAndWake stores the events of one version of a definition and wakes the generator. If the events were stored, the generator
// need not store them again; otherwise it does. The wake is published in any case.
func (a *api) tellAndWake(key schedule.Key, wake wire.Wake, events ...schedule.Event) effect {
	return func(ctx context.Context) error {
		err := a.tell(events...)(ctx)
		wake.Told = err == nil
		return errors.Join(err, a.wakeGenerator(key, wake)(ctx))
	}
}

func (a *api) wakeInvoker(key schedule.Key, wake wire.Wake) effect {
	return a.wake(a.names.InvokeWake(a.store.ShardOf(key), key), "", wake)
}

func (a *api) wakeInvokerToForget(key schedule.Key, wake wire.Wake) effect {
	return a.wake(a.names.InvokeDeleted(a.store.ShardOf(key), key), "", wake)
}

func (a *api) wakeBackfill(key schedule.Key, id string, wake wire.Wake) effect {
	shard := a.store.ShardOf(key)
	return a.wake(a.names.Backfill(shard, key, id), a.names.BackfillTimer(shard, key, id), wake)
}

// handOff hands a start over to the invoker, in the trace of the request that asked for it.
func (a *api) handOff(e *wire.Enqueue, key schedule.Key, trace string) effect {
	subject := a.names.InvokeEnqueue(a.store.ShardOf(key), key, e.Source, e.Span)
	return func(ctx context.Context) error {
		return task.Publish(telemetry.WithTraceparent(ctx, trace), a.bus, subject, e)
	}
}

// wake publishes a wake on a task subject. Storing it removes the guard.
func (a *api) wake(subject, guard string, wake wire.Wake) effect {
	return func(ctx context.Context) error {
		return task.PublishAndPurge(ctx, a.bus, subject, guard, &wake)
	}
}

// armGuard arms the delayed wake-up of the generator for a version that is about to be written. The wake that follows the write
// removes it. The guard is for whatever schedule exists when it fires. The incarnation is that of a schedule that exists already,
// for a generator that finds none; two creates may arm the same guard.
func (a *api) armGuard(ctx context.Context, key schedule.Key, incarnation string, version uint64) error {
	shard := a.store.ShardOf(key)
	return a.arm(ctx, a.names.GuardTimer(shard, key, version), a.names.GenerateGuard(shard, key, version),
		wire.Wake{Incarnation: incarnation, Version: version})
}

// armBackfillGuard does the same for the record of a backfill or trigger, which has a timer of its own. Its incarnation keeps the
// backfiller from dropping the record when a replica still shows an earlier schedule.
func (a *api) armBackfillGuard(ctx context.Context, key schedule.Key, record *wire.BackfillState) error {
	shard := a.store.ShardOf(key)
	return a.arm(ctx, a.names.BackfillTimer(shard, key, record.ID), a.names.Backfill(shard, key, record.ID),
		wire.Wake{Incarnation: record.Incarnation})
}

func (a *api) arm(ctx context.Context, timerSubject, target string, wake wire.Wake) error {
	wake.Reason, wake.GuardAgain = wire.ReasonGuard, schedule.Duration(a.guardDelay)
	body, err := codec.Marshal(&wake)
	if err != nil {
		return err
	}
	return task.ArmMessage(ctx, a.bus, timerSubject, target, a.now().Add(a.guardDelay), traceHeader(ctx), body)
}

// traceHeader returns a new header with the trace context of ctx.
func traceHeader(ctx context.Context) nats.Header {
	header := nats.Header{}
	telemetry.Inject(ctx, header)
	return header
}

func (a *api) logFor(key schedule.Key) *slog.Logger {
	return a.log.With("namespace", key.Namespace, "schedule_id", key.ID)
}
