package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// forget removes what the generator keeps of a schedule that is gone: its record and its timer.
func (p *Pool) forget(ctx context.Context, key schedule.Key) error {
	shard := p.config.Store.ShardOf(key)
	if err := p.purge(ctx, shard, p.config.Names.DueTimer(shard, key)); err != nil {
		return err
	}
	record, err := kv.GetLeader(ctx, p.config.Store, kv.Generator(key))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return kv.Delete(ctx, p.config.Store, kv.Generator(key), record.Revision)
}

func (p *Pool) purge(ctx context.Context, shard int, subject string) error {
	stream, err := p.config.JS.Stream(ctx, p.config.Names.TaskStream(shard))
	if err != nil {
		return fmt.Errorf("generator: remove timer: %w", err)
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return fmt.Errorf("generator: remove timer: %w", err)
	}
	return nil
}

// close ends an exhausted schedule: the definition goes, and the pools are told to forget the rest. The event comes
// first, under an ID that makes its repeat harmless.
func (p *Pool) close(ctx context.Context, definition kv.Record[schedule.Definition]) error {
	d := &definition.Value
	if err := p.publishClosed(ctx, d); err != nil {
		return err
	}
	if err := kv.Delete(ctx, p.config.Store, kv.Definition(d.Key()), definition.Revision); err != nil {
		return err
	}
	if err := p.wakeInvoker(ctx, d); err != nil {
		return err
	}
	return p.forget(ctx, d.Key())
}

func (p *Pool) publishClosed(ctx context.Context, d *schedule.Definition) error {
	event := schedule.Event{
		ID: d.Incarnation + "-closed", Time: p.config.Now().UTC(), Namespace: d.Namespace, ScheduleID: d.ID,
		Kind: schedule.EventClosed, Reason: "no time and no action left for the idle time",
	}
	data, err := json.Marshal(&event)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: p.config.Names.Event(d.Key(), event.Kind), Data: data}
	if _, err := p.config.JS.PublishMsg(ctx, msg, jetstream.WithMsgID(event.ID)); err != nil {
		return fmt.Errorf("generator: publish event: %w", err)
	}
	return nil
}

func (p *Pool) wakeInvoker(ctx context.Context, d *schedule.Definition) error {
	body, err := schedule.Marshal(&schedule.Wake{Reason: schedule.ReasonDeleted})
	if err != nil {
		return err
	}
	subject := p.config.Names.InvokeWake(p.config.Store.ShardOf(d.Key()), d.Key())
	if _, err := p.config.JS.Publish(ctx, subject, body); err != nil {
		return fmt.Errorf("generator: wake the invoker: %w", err)
	}
	return nil
}
