package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/leader"
	"github.com/carillon-scheduler/carillon/internal/replica"
	"github.com/carillon-scheduler/carillon/subjects"
)

// natsBuckets are the buckets of a connection to NATS. They are looked up once.
type natsBuckets struct {
	js      jetstream.JetStream
	buckets map[string]jetstream.KeyValue
	single  map[string]*singleReplica
	replica *replica.Reader
}

func openBuckets(ctx context.Context, js jetstream.JetStream, names []string) (*natsBuckets, error) {
	b := &natsBuckets{
		js: js, replica: replica.New(js),
		buckets: make(map[string]jetstream.KeyValue, len(names)), single: make(map[string]*singleReplica, len(names)),
	}
	for _, name := range names {
		bucket, err := js.KeyValue(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("kv: open bucket %s: %w", name, err)
		}
		b.buckets[name], b.single[name] = bucket, &singleReplica{}
	}
	return b, nil
}

func (b *natsBuckets) Get(ctx context.Context, bucket, key string) (Entry, error) {
	entry, err := b.buckets[bucket].Get(ctx, key)
	if err != nil {
		return Entry{}, readError(err)
	}
	return Entry{entry.Value(), entry.Revision()}, nil
}

func (b *natsBuckets) GetMatching(ctx context.Context, bucket string, filters []string) ([]NamedEntry, bool, error) {
	prefix := "$KV." + bucket + "."
	onSubjects := make([]string, len(filters))
	for i, filter := range filters {
		onSubjects[i] = prefix + filter
	}
	messages, rest, err := b.replica.Last(ctx, "KV_"+bucket, onSubjects...)
	if err != nil {
		return nil, false, err
	}
	found := make([]NamedEntry, 0, len(messages))
	for _, m := range messages {
		if !isTombstone(m.Header) {
			found = append(found, NamedEntry{m.Subject[len(prefix):], Entry{m.Data, m.Sequence}})
		}
	}
	return found, rest, nil
}

// GetLeader asks directly where there is one replica, which is the leader: that costs half.
func (b *natsBuckets) GetLeader(ctx context.Context, bucket, key string) (Entry, error) {
	if b.single[bucket].is(ctx, b.buckets[bucket]) {
		return b.Get(ctx, bucket, key)
	}
	message, err := leader.Last(ctx, b.js, "KV_"+bucket, "$KV."+bucket+"."+key)
	if err != nil {
		return Entry{}, readError(err)
	}
	if isTombstone(message.Header) {
		return Entry{}, ErrNotFound
	}
	return Entry{message.Data, message.Sequence}, nil
}

func (b *natsBuckets) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	revision, err := b.buckets[bucket].Create(ctx, key, data)
	return revision, writeError(err)
}

func (b *natsBuckets) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	next, err := b.buckets[bucket].Update(ctx, key, data, revision)
	return next, writeError(err)
}

func (b *natsBuckets) Delete(ctx context.Context, bucket, key string, revision uint64) error {
	return writeError(b.buckets[bucket].Purge(ctx, key,
		jetstream.LastRevision(revision), jetstream.PurgeTTL(subjects.TombstoneAge)))
}

func (b *natsBuckets) Names(ctx context.Context, bucket, filter string) ([]string, bool, error) {
	prefix := "$KV." + bucket + "."
	names, rest, err := subjectsOf(ctx, b.js, "KV_"+bucket, prefix+filter)
	for i, name := range names {
		names[i] = name[len(prefix):]
	}
	return names, rest, err
}

func (b *natsBuckets) Keys(ctx context.Context, bucket, filter string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	lister, err := b.buckets[bucket].ListKeysFiltered(ctx, filter)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range lister.Keys() {
		names = append(names, name)
	}
	// The lister ends in silence also when it could not finish.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.js.Conn().IsClosed() {
		return nil, jetstream.ErrConnectionClosed
	}
	return names, nil
}

// readError names the absence of a record. What cannot be a key, made of a subject that somebody else has published on,
// names a record that is not there.
func readError(err error) error {
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, leader.ErrNone) || errors.Is(err, jetstream.ErrInvalidKey) {
		return ErrNotFound
	}
	return err
}

// writeError names a conflict.
func writeError(err error) error {
	if isConflict(err) {
		return ErrConflict
	}
	return err
}

// isConflict goes by the codes of the server, of which a stream with several replicas has another than one with a single
// replica. The errors of nats.go would not do: Create over a deleted record returns what the server says as it is.
func isConflict(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	return api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// isTombstone reports whether the headers of a KV message mark a deleted record, by a client or by the server.
func isTombstone(header nats.Header) bool {
	return header.Get("KV-Operation") != "" || header.Get(jetstream.MarkerReasonHeader) != ""
}
