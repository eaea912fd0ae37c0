package kv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

// natsBuckets are the buckets of an installation on NATS. Those of the shards are looked up once.
type natsBuckets struct {
	js        jetstream.JetStream
	publisher *bus.Publisher
	shards    map[string]*shardBucket
	lanes     *bus.Lanes
	readers   *bus.Readers
	opened    time.Time
	rush      rush
}

// shardBucket is the bucket of a shard, by the connection for everything and, once that is needed, by the lane.
type shardBucket struct {
	jetstream.KeyValue
	shard  int
	single bus.Single
	// replicas asks NATS for the number of replicas, and notes what else the answer says.
	replicas func(context.Context) (int, error)
	lane     atomic.Pointer[jetstream.KeyValue]
}

// openBuckets opens those of the shards, whose names are in their order.
func openBuckets(
	ctx context.Context, js jetstream.JetStream, names []string, lanes *bus.Lanes,
) (*natsBuckets, error) {
	b := &natsBuckets{
		js: js, publisher: bus.NewPublisher(js), lanes: lanes, readers: bus.NewReaders(js, lanes),
		opened: time.Now(), //permit:time.Now it measures NATS
		shards: make(map[string]*shardBucket, len(names)),
	}
	for shard, name := range names {
		bucket, err := js.KeyValue(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("kv: open bucket %s: %w", name, err)
		}
		of := &shardBucket{KeyValue: bucket, shard: shard}
		of.replicas = func(ctx context.Context) (int, error) {
			status, err := bucket.Status(ctx)
			if err != nil {
				return 0, err
			}
			of.note(ctx, lanes, status)
			return status.Config().Replicas, nil
		}
		b.shards[name] = of
	}
	return b, nil
}

// note tells lanes of the size of the bucket, and looks it up by its lane if that is used from now on. Where that fails it goes on being
// read by the connection for everything, until it is noted again.
func (b *shardBucket) note(ctx context.Context, lanes *bus.Lanes, status jetstream.KeyValueStatus) {
	lanes.Note(ctx, b.shard, status.Values())
	lane := lanes.Of(b.shard, nil)
	if lane == nil || b.lane.Load() != nil {
		return
	}
	if bucket, err := lane.KeyValue(ctx, b.Bucket()); err == nil {
		b.lane.Store(&bucket)
	}
}

// of returns a bucket. That of the cluster, which is seldom needed, and comes last when a backup is restored, is looked up.
func (b *natsBuckets) of(ctx context.Context, name string) (jetstream.KeyValue, error) {
	if bucket, known := b.shards[name]; known {
		return bucket, nil
	}
	return b.js.KeyValue(ctx, name)
}

// byLane reports whether so many records of a shard are read by its lane: that is used, and there is no rush.
func (b *natsBuckets) byLane(shard, records int) bool {
	return b.lanes.Uses(shard) && !b.rush.read(records, time.Since(b.opened))
}

// toRead returns a bucket, by its lane if that is used.
func (b *natsBuckets) toRead(ctx context.Context, name string) (jetstream.KeyValue, error) {
	if bucket, known := b.shards[name]; known && b.byLane(bucket.shard, 1) {
		if lane := bucket.lane.Load(); lane != nil {
			return *lane, nil
		}
	}
	return b.of(ctx, name)
}

// readerOf is what reads so many records of a bucket at once.
func (b *natsBuckets) readerOf(name string, records int) *bus.Reader {
	if bucket, known := b.shards[name]; known && b.byLane(bucket.shard, records) {
		return b.readers.Of(bucket.shard)
	}
	return b.readers.Main()
}

func (b *natsBuckets) Get(ctx context.Context, bucket, key string) (Entry, error) {
	ctx, cancel := bus.ForAnswer(ctx)
	defer cancel()
	in, err := b.toRead(ctx, bucket)
	if err != nil {
		return Entry{}, err
	}
	entry, err := in.Get(ctx, key)
	if err != nil {
		return Entry{}, readError(err)
	}
	return Entry{entry.Value(), entry.Revision()}, nil
}

func (b *natsBuckets) GetMatching(ctx context.Context, bucket string, filters []string) (Matching, error) {
	prefix := subjects.BucketSubject(bucket, "")
	onSubjects := make([]string, len(filters))
	for i, filter := range filters {
		onSubjects[i] = prefix + filter
	}
	messages, upTo, rest, err := b.readerOf(bucket, len(filters)).LastUpTo(ctx, subjects.BucketStream(bucket), onSubjects...)
	if err != nil {
		return Matching{}, err
	}
	found := make([]NamedEntry, 0, len(messages))
	for _, m := range messages {
		if !IsTombstone(m.Header) {
			found = append(found, NamedEntry{m.Subject[len(prefix):], Entry{m.Data, m.Sequence}})
		}
	}
	return Matching{Entries: found, Rest: rest, UpTo: upTo}, nil
}

// Newest implements Buckets.
func (b *natsBuckets) Newest(ctx context.Context, bucket string) (uint64, error) {
	if of, known := b.shards[bucket]; known && of.single.Is(ctx, of.replicas) {
		return 0, nil
	}
	return bus.LeaderSequence(ctx, b.js, subjects.BucketStream(bucket))
}

// GetLeader asks directly where there is one replica, which is the leader: that costs half.
func (b *natsBuckets) GetLeader(ctx context.Context, bucket, key string) (Entry, error) {
	if of, known := b.shards[bucket]; known && of.single.Is(ctx, of.replicas) {
		return b.Get(ctx, bucket, key)
	}
	message, err := bus.LeaderLast(ctx, b.js, subjects.BucketStream(bucket), subjects.BucketSubject(bucket, key))
	if err != nil {
		return Entry{}, readError(err)
	}
	if IsTombstone(message.Header) {
		return Entry{}, ErrNotFound
	}
	return Entry{message.Data, message.Sequence}, nil
}

// Create writes over the trace of what has been deleted. The leader tells of that: a replica, which nats.go would ask, may not have heard of
// the deletion yet.
func (b *natsBuckets) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	revision, err := b.Update(ctx, bucket, key, data, 0)
	if !errors.Is(err, ErrConflict) {
		return revision, err
	}
	_, deleted, err := b.Trace(ctx, bucket, key)
	switch {
	case err != nil:
		return 0, err
	case deleted == 0:
		return 0, ErrConflict
	}
	return b.Update(ctx, bucket, key, data, deleted)
}

func (b *natsBuckets) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	written, err := b.publisher.Publish(ctx, &nats.Msg{
		Subject: subjects.BucketSubject(bucket, key),
		Header:  nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(revision, 10)}},
		Data:    data,
	})
	if err != nil {
		return 0, writeError(err)
	}
	return written, nil
}

// Delete does what a purge of nats.go does, which has no place for a note.
func (b *natsBuckets) Delete(ctx context.Context, bucket, key string, revision uint64, note Note) error {
	header := nats.Header{
		"KV-Operation":                      {"PURGE"},
		jetstream.MsgRollup:                 {jetstream.MsgRollupSubject},
		jetstream.MsgTTLHeader:              {subjects.TombstoneAge.String()},
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(revision, 10)},
	}
	note.AddTo(header)
	_, err := b.publisher.Publish(ctx, &nats.Msg{Subject: subjects.BucketSubject(bucket, key), Header: header})
	return writeError(err)
}

func (b *natsBuckets) Trace(ctx context.Context, bucket, key string) (Note, uint64, error) {
	message, err := bus.LeaderLast(ctx, b.js, subjects.BucketStream(bucket), subjects.BucketSubject(bucket, key))
	if errors.Is(err, bus.ErrNone) || err == nil && !IsTombstone(message.Header) {
		return Note{}, 0, nil
	}
	return NoteIn(message.Header), message.Sequence, err
}

func (b *natsBuckets) Names(ctx context.Context, bucket, filter string) ([]string, bool, error) {
	prefix := subjects.BucketSubject(bucket, "")
	names, rest, err := subjectsOf(ctx, b.js, subjects.BucketStream(bucket), prefix+filter)
	for i, name := range names {
		names[i] = name[len(prefix):]
	}
	return names, rest, err
}

// readError names the absence of a record. What cannot be a key, made of a subject that somebody else has published on,
// names a record that is not there.
func readError(err error) error {
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, bus.ErrNone) || errors.Is(err, jetstream.ErrInvalidKey) {
		return ErrNotFound
	}
	return err
}

// writeError names a conflict.
func writeError(err error) error {
	if bus.IsWrongSequence(err) {
		return ErrConflict
	}
	return err
}

// IsTombstone reports whether the headers of a KV message mark a deleted record, by a client or by the server.
func IsTombstone(header nats.Header) bool {
	return header.Get("KV-Operation") != "" || header.Get(jetstream.MarkerReasonHeader) != ""
}
