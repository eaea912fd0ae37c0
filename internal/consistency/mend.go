package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// mend is a repair of a finding. It is harmless if somebody else has done it, or if the fault is gone by now.
type mend interface {
	carryOut(ctx context.Context, m *mender, key schedule.Key) error
}

// mender is what repairs need.
type mender struct {
	// journals is nil if workflows are not looked at.
	journals *journal.Journals
	bus      bus.Bus
	buckets  kv.Buckets
	store    *kv.Store
	names    subjects.Names
	letters  Letters
	now      func() time.Time
}

// wakeGenerator, wakeInvoker and wakeBackfill wake a pool. If a timer is named, they remove it in the same step.
type (
	wakeGenerator struct {
		wake  wire.Wake
		timer string
	}
	wakeInvoker struct {
		wake  wire.Wake
		timer string
	}
	wakeBackfill struct {
		id    string
		wake  wire.Wake
		timer string
	}
)

func (w wakeGenerator) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	return m.wake(ctx, m.names.Generate(m.store.ShardOf(key), key, subjects.WhatGuard), w.timer, &w.wake)
}

func (w wakeInvoker) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	return m.wake(ctx, m.names.InvokeWake(m.store.ShardOf(key), key), w.timer, &w.wake)
}

func (w wakeBackfill) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	return m.wake(ctx, m.names.Backfill(m.store.ShardOf(key), key, w.id), w.timer, &w.wake)
}

// wake sends a wake, unless one waits already: the waiting one may say more.
func (m *mender) wake(ctx context.Context, subject, timerSubject string, wake *wire.Wake) error {
	body, err := codec.Marshal(wake)
	if err != nil {
		return err
	}
	header := nats.Header{nats.ExpectedLastSubjSeqHdr: {"0"}}
	task.PurgeHeader(header, timerSubject)
	return m.publish(ctx, &nats.Msg{Subject: subject, Header: header, Data: body})
}

// publish stores a message whose header says the expected last sequence of its subject. If that is wrong, somebody was faster,
// which is no error.
func (m *mender) publish(ctx context.Context, msg *nats.Msg) error {
	err := m.bus.Publish(ctx, msg)
	if bus.IsWrongSequence(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("consistency: publish on %s: %w", msg.Subject, err)
	}
	return nil
}

// again replaces a message by a copy of it. The consumer has not passed over the copy.
type again struct {
	subject  string
	sequence uint64
}

func (a again) carryOut(ctx context.Context, m *mender, _ schedule.Key) error {
	parsed, err := m.names.ParseTask(a.subject)
	if err != nil {
		return fmt.Errorf("consistency: %w", err)
	}
	stored, err := m.bus.Last(ctx, m.names.StreamOf(parsed), a.subject)
	if errors.Is(err, bus.ErrNone) || err == nil && stored.Sequence != a.sequence {
		return nil
	}
	if err != nil {
		return err
	}
	header := stored.Header
	// The copy is another message to the stream, and must not repeat what the original did there.
	for _, name := range []string{
		nats.MsgIdHdr, nats.ExpectedLastSubjSeqHdr, task.HeaderAt, task.HeaderTarget, task.HeaderScheduler, task.HeaderNext,
	} {
		header.Del(name)
	}
	header.Set(nats.ExpectedLastSubjSeqHdr, fmt.Sprint(a.sequence))
	return m.publish(ctx, &nats.Msg{Subject: a.subject, Header: header, Data: stored.Data})
}

// reportLost completes a run that nobody has, and that nobody else will complete. A completion that has come meanwhile stands.
type reportLost struct{ start wire.BufferedStart }

func (r reportLost) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	start := &r.start
	message := "the run is lost: its start request has left the queue, no worker says that it has it, and no completion has come"
	if start.ActionKind.IsWorkflow() {
		message = "the run is lost: its workflow is not in progress, and nobody has reported its end"
	}
	body, err := json.Marshal(&schedule.Completion{
		RequestID: start.RequestID, RunID: start.RunID, Status: schedule.StatusFailed, CloseTime: m.now().UTC(),
		Failure: &schedule.Failure{
			Type: schedule.FailureLost, Message: message,
		},
	})
	if err != nil {
		return err
	}
	shard := m.store.ShardOf(key)
	header := nats.Header{nats.ExpectedLastSubjSeqHdr: {"0"}}
	subject := m.names.Callback(shard, key, start.TaskQueue, start.RequestID)
	return m.publish(ctx, &nats.Msg{Subject: subject, Header: header, Data: body})
}

// replay sends the message of a dead letter again.
type replay struct{ letter deadletter.Number }

func (r replay) carryOut(ctx context.Context, m *mender, _ schedule.Key) error {
	_, err := m.letters.Replay(ctx, r.letter)
	return err
}

// putGenerator writes the generator's record and wakes the generator.
type putGenerator struct {
	state    wire.GeneratorState
	revision uint64
	wake     wire.Wake
}

func (p putGenerator) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	if _, err := kv.Put(ctx, m.store, kv.Generator(key), &p.state, p.revision); err != nil {
		return err
	}
	return wakeGenerator{wake: p.wake}.carryOut(ctx, m, key)
}

// removeRecord removes a record, and then carries out then. If gone is set, it does so only while there is no definition.
type removeRecord struct {
	name     string
	revision uint64
	gone     bool
	then     mend
}

func (r removeRecord) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	if r.gone {
		if err := kv.EnsureGone(ctx, m.store, key); err != nil {
			return err
		}
	}
	if r.revision == 0 {
		return fmt.Errorf("consistency: %s has no revision", r.name) // revision 0 would match any record
	}
	if err := m.buckets.Delete(ctx, m.names.StateBucket(m.store.ShardOf(key)), r.name, r.revision, kv.Note{}); err != nil {
		return fmt.Errorf("consistency: remove %s: %w", r.name, err)
	}
	if r.then == nil {
		return nil
	}
	return r.then.carryOut(ctx, m, key)
}
