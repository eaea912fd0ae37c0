package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/leader"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("kv: record not found")
	// ErrConflict: the record has been written since it was read, or exists where it was to be created.
	ErrConflict = errors.New("kv: record has another revision")
	// ErrCorrupt: the record cannot be decoded. Trying again does not help.
	ErrCorrupt = errors.New("kv: record cannot be decoded")
)

// Record is a value and the revision it was read at. Revision 0 stands for a record that does not exist.
type Record[T any] struct {
	Value    T
	Revision uint64
}

// Get reads a record from any replica, so it may lag behind the newest write; a compare-and-set notices. The error is
// ErrNotFound, ErrCorrupt or one of NATS.
func Get[T any](ctx context.Context, s *Store, key Key[T]) (Record[T], error) {
	entry, err := s.bucket(key.schedule).Get(ctx, key.name)
	if err != nil {
		return Record[T]{}, readError(key.name, err)
	}
	return decode[T](key.name, entry.Value(), entry.Revision())
}

// GetLeader reads a record from the leader of its bucket: what was acknowledged before is seen. It costs more than Get.
func GetLeader[T any](ctx context.Context, s *Store, key Key[T]) (Record[T], error) {
	bucket := s.bucket(key.schedule).Bucket()
	message, err := leader.Last(ctx, s.js, "KV_"+bucket, "$KV."+bucket+"."+key.name)
	if err != nil {
		return Record[T]{}, readError(key.name, err)
	}
	if isTombstone(message.Header) {
		return Record[T]{}, readError(key.name, jetstream.ErrKeyNotFound)
	}
	return decode[T](key.name, message.Data, message.Sequence)
}

// Put writes a record if its revision is still the given one; 0 means that it must not exist. It returns the new
// revision. The error is ErrConflict or one of NATS; after the latter the write may or may not have happened.
func Put[T any](ctx context.Context, s *Store, key Key[T], value *T, revision uint64) (uint64, error) {
	data, err := schedule.Marshal(value)
	if err != nil {
		return 0, fmt.Errorf("kv: encode %s: %w", key.name, err)
	}
	bucket := s.bucket(key.schedule)
	var next uint64
	if revision == 0 {
		next, err = bucket.Create(ctx, key.name, data)
	} else {
		next, err = bucket.Update(ctx, key.name, data, revision)
	}
	if err != nil {
		return 0, writeError(key.name, err)
	}
	return next, nil
}

// Delete removes a record if its revision is still the given one. A trace of it remains for subjects.TombstoneAge, so
// that a writer with the old revision fails. The error is ErrConflict or one of NATS.
func Delete[T any](ctx context.Context, s *Store, key Key[T], revision uint64) error {
	if revision == 0 {
		// To nats.go it would mean any revision.
		return fmt.Errorf("%w: %s: revision 0 is that of no record", ErrConflict, key.name)
	}
	err := s.bucket(key.schedule).Purge(ctx, key.name,
		jetstream.LastRevision(revision), jetstream.PurgeTTL(subjects.TombstoneAge))
	if err != nil {
		return writeError(key.name, err)
	}
	return nil
}

func decode[T any](name string, data []byte, revision uint64) (Record[T], error) {
	record := Record[T]{Revision: revision}
	if err := schedule.Unmarshal(data, &record.Value); err != nil {
		return Record[T]{}, fmt.Errorf("%w: %s at revision %d: %w", ErrCorrupt, name, revision, err)
	}
	return record, nil
}

// readError names the absence of a record. What cannot be a key, made of a subject that somebody else has published on,
// names a record that is not there.
func readError(name string, err error) error {
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, leader.ErrNone) || errors.Is(err, jetstream.ErrInvalidKey) {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return fmt.Errorf("kv: read %s: %w", name, err)
}

// writeError names a conflict.
func writeError(name string, err error) error {
	if isConflict(err) {
		return fmt.Errorf("%w: %s", ErrConflict, name)
	}
	return fmt.Errorf("kv: write %s: %w", name, err)
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
