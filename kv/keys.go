package kv

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// few is up to how many keys Keys asks for one by one. More keys are read by a watch. A watch needs a consumer; to create one, the server
// searches the subjects of a file of messages, and often has to build the index of that file first.
const few = 16

// Keys implements [Buckets]. A watch without data tells existing entries from deleted ones, but it has two gaps:
//
//   - It ends after as many entries as there were at its beginning. An entry that is written meanwhile moves to the end of the stream, and
//     the watch may miss it. So Keys asks the leader for the keys first, and reads each key that the watch has missed. If there are few
//     keys, it reads each of them and needs no watch.
//   - The replica that answers the watch may lag behind. So Keys reads entries again that the watch shows as deleted.
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
		// The leader cannot name so many keys at once. It is unlikely that two watches miss the same key.
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

// meet records for each matching entry whether it exists or is deleted.
func (b *natsBuckets) meet(ctx context.Context, bucket, filter string, met map[string]bool) error {
	in, err := b.of(ctx, bucket)
	if err != nil {
		return err
	}
	watcher, err := in.Watch(ctx, filter, jetstream.MetaOnly())
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Stop() }() // NATS removes the consumer of a lost connection
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

// live returns the keys of existing entries: those that were met, and those that were met as deleted and have been written since.
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

// there returns the keys that have an entry, as of a revision or later.
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
