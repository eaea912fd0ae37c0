package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/timer"
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
}

func (s *session) shard() int { return s.config.Store.ShardOf(s.key) }

// commit writes what a transition has led to. First what a repeat of the messages would do again unharmed (the pause,
// the last result), then the record, then the events, which stay in the record until they are published.
func (s *session) commit(ctx context.Context, out Outcome) error {
	for reason, count := range out.Ignored {
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
	revision, err := kv.Put(ctx, s.config.Store, kv.Invoker(s.key), &out.State, s.record.Revision)
	if err != nil {
		return err
	}
	s.record = kv.Record[schedule.InvokerState]{Value: out.State, Revision: revision}
	return s.publishOutbox(ctx)
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
	return s.wake(ctx, s.config.Names.Generate(s.shard(), s.key, subjects.WhatWake), schedule.ReasonPaused)
}

// writeResult brings the record of the last result up to date.
func (s *session) writeResult(ctx context.Context, out *Outcome) error {
	if len(out.Ended) == 0 {
		return nil
	}
	record, err := kv.Record[schedule.Result]{}, error(nil)
	if out.State.HasResult {
		record, err = kv.GetLeader(ctx, s.config.Store, kv.Result(s.key))
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
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

// publishLeftOver publishes the events of a record that another process wrote, or this one before a crash. It may have
// done so already: the repeats bear the same IDs.
func (s *session) publishLeftOver(ctx context.Context) error {
	if len(s.record.Value.Outbox) == 0 {
		return nil
	}
	if revision, ok := s.published.Get(s.key); ok && revision == s.record.Revision {
		s.record.Value.Outbox = nil
		return nil
	}
	return s.publishOutbox(ctx)
}

// publishOutbox publishes the events of the record and waits for their acknowledgements.
func (s *session) publishOutbox(ctx context.Context) error {
	if err := s.publishEvents(ctx, s.record.Value.Outbox); err != nil {
		return err
	}
	s.published.Add(s.key, s.record.Revision)
	s.record.Value.Outbox = nil
	return nil
}

func (p *Pool) publishEvents(ctx context.Context, events []schedule.Event) error {
	acks := make([]jetstream.PubAckFuture, 0, len(events))
	for i := range events {
		event := &events[i]
		data, err := json.Marshal(event)
		if err != nil {
			return err
		}
		key := schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}
		msg := nats.NewMsg(p.config.Names.Event(key, event.Kind))
		msg.Data = data
		telemetry.Inject(telemetry.WithTraceparent(ctx, event.Trace), msg.Header)
		ack, err := p.config.JS.PublishMsgAsync(msg, jetstream.WithMsgID(event.ID))
		if err != nil {
			return fmt.Errorf("invoker: publish event: %w", err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("invoker: publish event: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// execute does the work of the record and records what came of it, until there is none left. recovering is the part of
// it that may have been done before.
func (s *session) execute(ctx context.Context, recovering Work) error {
	for {
		work := WorkOf(&s.record.Value, s.config.Now())
		if work.Empty() {
			break
		}
		report, err := s.perform(ctx, work, recovering)
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
	body, err := s.wakeBody(schedule.ReasonRetry)
	if err != nil {
		return err
	}
	names := s.config.Names
	return timer.Arm(ctx, s.config.JS, names.RetryTimer(s.shard(), s.key), names.InvokeWake(s.shard(), s.key), at, nil, body)
}

// wakeOthers tells the backfills in progress that the buffer has changed.
func (s *session) wakeOthers(ctx context.Context) error {
	for source := range s.record.Value.Sources {
		if source == schedule.SourceAuto {
			continue
		}
		subject := s.config.Names.Backfill(s.shard(), s.key, source)
		if err := s.wake(ctx, subject, schedule.ReasonDrained); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) wake(ctx context.Context, subject string, reason schedule.Reason) error {
	body, err := s.wakeBody(reason)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: body}
	telemetry.Inject(ctx, msg.Header)
	if _, err := s.config.JS.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("invoker: wake %s: %w", subject, err)
	}
	return nil
}

func (s *session) wakeBody(reason schedule.Reason) ([]byte, error) {
	d := &s.definition.Value
	return schedule.Marshal(&schedule.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: reason})
}
