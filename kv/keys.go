package kv

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// few is how many keys are asked for one by one. A watch needs a consumer, and for that the server looks through the subjects of a
// file of messages, an index of which it often has to make first.
const few = 16

// Keys reads all entries that match, without their data, to tell those that are deleted from the others. An entry that is
// written while that goes on moves to the end of what is read, and may be missed there: the end is where as many have come as
// there were at the beginning. So what the leader has said to be there, and has not been met, is asked for by its key; where there
// is little, all of it.
func (b *natsBuckets) Keys(ctx context.Context, bucket, filter string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	known, rest, err := b.Names(ctx, bucket, filter)
	if err != nil || len(known) == 0 && !rest {
		return nil, err
	}
	met := map[string]bool{}
	if rest || len(known) > few {
		if err := b.meet(ctx, bucket, filter, met); err != nil {
			return nil, err
		}
	}
	if rest {
		// There are more than the leader names at once. Nothing is missed twice but by a rare chance.
		err := b.meet(ctx, bucket, filter, met)
		return live(met), err
	}
	for _, key := range known {
		if _, is := met[key]; is {
			continue
		}
		_, err := b.GetLeader(ctx, bucket, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		met[key] = err == nil
	}
	return live(met), nil
}

// meet notes of each entry that matches whether it is there or deleted.
func (b *natsBuckets) meet(ctx context.Context, bucket, filter string, met map[string]bool) error {
	in, err := b.of(ctx, bucket)
	if err != nil {
		return err
	}
	watcher, err := in.Watch(ctx, filter, jetstream.MetaOnly())
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Stop() }() // the consumer of a connection that is lost goes by itself
	for {
		select {
		case entry, open := <-watcher.Updates():
			switch {
			case !open && ctx.Err() == nil:
				return jetstream.ErrConnectionClosed
			case !open:
				return ctx.Err()
			case entry == nil:
				return nil
			}
			met[entry.Key()] = entry.Operation() == jetstream.KeyValuePut
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// live are the keys of entries that are there.
func live(met map[string]bool) []string {
	var keys []string
	for key, is := range met {
		if is {
			keys = append(keys, key)
		}
	}
	return keys
}
