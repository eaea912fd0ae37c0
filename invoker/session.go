package invoker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// session is the work on one schedule for one group of messages: transitions and executions in turn, until nothing is
// left to execute.
type session struct {
	*Pool
	key        schedule.Key
	definition kv.Record[schedule.Definition]
	record     kv.Record[schedule.InvokerState]
	// seen is when the record was known to be the newest: no other process had done anything since then.
	seen time.Time
	// repeated are the starts that were ready when the record was read: by a transition that did not get as far as
	// recording what came of them, so they may have been published before.
	repeated map[string]bool
}

func newSession(
	p *Pool, key schedule.Key, d kv.Record[schedule.Definition], record kv.Record[schedule.InvokerState], seen time.Time,
) *session {
	s := &session{Pool: p, key: key, definition: d, record: record, seen: seen, repeated: map[string]bool{}}
	for i := range record.Value.Starts {
		if start := &record.Value.Starts[i]; start.Phase == schedule.PhaseReady {
			s.repeated[start.RequestID] = true
		}
	}
	return s
}

func (s *session) shard() int { return s.config.Store.ShardOf(s.key) }

// commit writes what a transition has led to. First what a repeat of the messages would do again unharmed (the pause,
// the last result), then the record, then the events, which stay in the record until they are published.
func (s *session) commit(ctx context.Context, out Outcome) error {
	for reason, count := range out.Ignored {
		telemetry.CountIgnored(ctx, subjects.PoolInvoker, reason, count)
		s.config.Logger.DebugContext(ctx, "messages ignored", "namespace", s.key.Namespace, "schedule_id", s.key.ID,
			"reason", reason, "count", count)
	}
	if out.PauseNote != "" {
		if err := s.pause(ctx, out.PauseNote); err != nil {
			return err
		}
	}
	if err := s.writeResult(ctx, &out); err != nil {
		return err
	}
	if !out.Changed {
		return nil
	}
	seen := s.wallClock()
	revision, err := s.put(ctx, &out.State)
	if err != nil {
		return err
	}
	s.seen = seen
	s.record = kv.Record[schedule.InvokerState]{Value: out.State, Revision: revision}
	return s.publishOutbox(ctx)
}

// put writes the record. Where a thousand starts and their events make it larger than a message may be, the events go
// first: a repeat of the transition gives the same ones, if nothing else has come in between.
func (s *session) put(ctx context.Context, state *schedule.InvokerState) (uint64, error) {
	revision, err := kv.Put(ctx, s.config.Store, kv.Invoker(s.key), state, s.record.Revision)
	if !errors.Is(err, nats.ErrMaxPayload) || len(state.Outbox) == 0 {
		return revision, err
	}
	if err := s.events.Publish(ctx, state.Outbox...); err != nil {
		return 0, err
	}
	state.Outbox = nil
	return kv.Put(ctx, s.config.Store, kv.Invoker(s.key), state, s.record.Revision)
}

// pause writes pause-on-failure into the definition. A definition that another has changed is read again by the next
// attempt, which pauses it then.
func (s *session) pause(ctx context.Context, note string) error {
	d := s.definition.Value
	d.Version++
	d.Schedule.State.Paused, d.Schedule.State.Notes = true, note
	revision, err := kv.Put(ctx, s.config.Store, kv.Definition(s.key), &d, s.definition.Revision)
	if err != nil {
		return err
	}
	s.definition = kv.Record[schedule.Definition]{Value: d, Revision: revision}
	subject := s.config.Names.GenerateWake(s.shard(), s.key, d.Version)
	return task.Publish(ctx, s.config.JS, subject, s.wake(schedule.ReasonPaused))
}

// writeResult brings the record of the last result up to date.
func (s *session) writeResult(ctx context.Context, out *Outcome) error {
	if len(out.Ended) == 0 {
		return nil
	}
	record, err := kv.Record[schedule.Result]{}, error(nil)
	if out.State.HasResult {
		record, err = kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Result(s.key)))
	}
	if err != nil {
		return err
	}
	result, changed := Fold(record.Value, s.definition.Value.Incarnation, out.Ended)
	if !changed {
		return nil
	}
	_, err = kv.Put(ctx, s.config.Store, kv.Result(s.key), &result, record.Revision)
	if errors.Is(err, kv.ErrConflict) && !out.State.HasResult {
		// An attempt that was cut short, or an earlier incarnation, has left one.
		out.State.HasResult = true
		return s.writeResult(ctx, out)
	}
	out.State.HasResult, out.Changed = true, true
	return err
}

// execute does the work of the record and records what came of it, until there is none left.
func (s *session) execute(ctx context.Context) error {
	for {
		work := WorkOf(&s.record.Value, s.config.Now())
		if work.Empty() {
			break
		}
		report, err := s.perform(ctx, work)
		if err != nil {
			return err
		}
		before := s.record.Revision
		if err := s.commit(ctx, Apply(&s.definition.Value, s.record.Value, report, s.config.Now())); err != nil {
			return err
		}
		if s.record.Revision == before {
			break // nothing more can be done now
		}
	}
	return s.armRetry(ctx)
}

func (s *session) armRetry(ctx context.Context) error {
	at := RetryAt(&s.record.Value, s.config.Now())
	if at.IsZero() {
		return nil
	}
	names := s.config.Names
	return task.Arm(ctx, s.config.JS, names.RetryTimer(s.shard(), s.key), names.InvokeWake(s.shard(), s.key), at,
		s.wake(schedule.ReasonRetry))
}

// wakeOthers tells the backfills in progress that the buffer has changed.
func (s *session) wakeOthers(ctx context.Context) error {
	for source := range s.record.Value.Sources {
		if source == schedule.SourceAuto {
			continue
		}
		subject := s.config.Names.Backfill(s.shard(), s.key, source)
		if err := task.Publish(ctx, s.config.JS, subject, s.wake(schedule.ReasonDrained)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) wake(reason schedule.Reason) *schedule.Wake {
	d := &s.definition.Value
	return &schedule.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: reason}
}
