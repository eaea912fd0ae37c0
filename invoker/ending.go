package invoker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// forget removes what the invoker keeps of a schedule that is gone. Runs in progress go on; their completions find
// nothing and are acknowledged.
func (p *Pool) forget(ctx context.Context, key schedule.Key) error {
	record, err := kv.GetLeader(ctx, p.config.Store, kv.Invoker(key))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.publishEvents(ctx, record.Value.Outbox); err != nil {
		return err
	}
	if err := p.purgeRetry(ctx, key); err != nil {
		return err
	}
	if err := forgetRecord(ctx, p.config.Store, kv.Result(key)); err != nil {
		return err
	}
	return kv.Delete(ctx, p.config.Store, kv.Invoker(key), record.Revision)
}

func (p *Pool) purgeRetry(ctx context.Context, key schedule.Key) error {
	shard := p.config.Store.ShardOf(key)
	stream, err := p.config.JS.Stream(ctx, p.config.Names.TaskStream(shard))
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(p.config.Names.RetryTimer(shard, key)))
	}
	if err != nil {
		return fmt.Errorf("invoker: remove timer: %w", err)
	}
	return nil
}

func forgetRecord[T any](ctx context.Context, store *kv.Store, key kv.Key[T]) error {
	record, err := kv.GetLeader(ctx, store, key)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return kv.Delete(ctx, store, key, record.Revision)
}
