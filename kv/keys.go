package kv

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// few is how many keys are asked for one by one. A watch needs a consumer, and for that the server looks through the subjects of a
// file of messages, an index of which it often has to make first.
const few = 16

// Keys reads all entries that match, without their data, to tell those that are deleted from the others. An entry that is
// written while that goes on moves to the end of what is read, and may be missed there: the end is where as many have come as
// there were at the beginning. So what the leader has said to be there, and has not been met, is asked for by its key; where there
// is little, all of it. And whoever answers a watch may lag behind: what it has as deleted is read once more.
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
		if err := b.meet(ctx, bucket, filter, met); err != nil {
			return nil, err
		}
		return b.live(ctx, bucket, met)
	}
	for _, key := range known {
		if _, is := met[key]; is {
			continue
		}
		_, err := b.GetLeader(ctx, bucket, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if err == nil {
			met[key] = true
		}
	}
	return b.live(ctx, bucket, met)
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

// live returns the keys of entries that are there: all that were met, and those that were met as deleted and have been written since.
func (b *natsBuckets) live(ctx context.Context, bucket string, met map[string]bool) (keys []string, err error) {
	var deleted []string
	for key, is := range met {
		if is {
			keys = append(keys, key)
		} else {
			deleted = append(deleted, key)
		}
	}
	if len(deleted) == 0 {
		return keys, nil
	}
	newest, err := b.Newest(ctx, bucket)
	if err != nil || newest == 0 {
		return keys, err
	}
	for some := range slices.Chunk(deleted, batchKeys) {
		there, err := b.there(ctx, bucket, newest, some)
		if err != nil {
			return nil, err
		}
		keys = append(keys, there...)
	}
	return keys, nil
}

// there returns which of some keys have an entry, as of a revision or later.
func (b *natsBuckets) there(ctx context.Context, bucket string, revision uint64, keys []string) (there []string, err error) {
	batch := &Batch{store: &Store{buckets: b}}
	if err := batch.readSince(ctx, bucket, revision, keys); err != nil {
		return nil, err
	}
	for _, key := range keys {
		_, is := batch.found[key]
		if !is && batch.rest {
			_, err := b.GetLeader(ctx, bucket, key)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, err
			}
			is = err == nil
		}
		if is {
			there = append(there, key)
		}
	}
	return there, nil
}
