package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("kv: record not found")
	// ErrConflict: another writer has changed the record since it was read, or the record to create exists already.
	ErrConflict = errors.New("kv: record has another revision")
	// ErrUnconfirmed: a replica's answer is not enough for the intended change; the leader must confirm it. A transition of [RetryConflicts]
	// returns it to begin again. Unlike a conflict, it does not mean that another process was faster.
	ErrUnconfirmed = errors.New("kv: a replica says so, and the leader has not confirmed it")
	// ErrCorrupt: the record cannot be decoded. Trying again does not help.
	ErrCorrupt = errors.New("kv: record cannot be decoded")
)

// Record is a value and the revision it was read at. Revision 0 stands for a record that does not exist.
type Record[T any] struct {
	Value    T
	Revision uint64
}

// Get reads a record from any replica. The record may be older than the newest write; a compare-and-set notices that. The error is
// ErrNotFound, ErrCorrupt or an error of NATS.
func Get[T any](ctx context.Context, s *Store, key Key[T]) (Record[T], error) {
	watch := begin(ctx, opGet)
	entry, err := s.buckets.Get(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return decode[T](key.name, entry, err)
}

// GetLeader reads a record from the leader of its bucket, so it sees every acknowledged write. It costs more than Get.
func GetLeader[T any](ctx context.Context, s *Store, key Key[T]) (Record[T], error) {
	watch := begin(ctx, opGetLeader)
	entry, err := s.buckets.GetLeader(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return decode[T](key.name, entry, err)
}

// refresh is Get for a caller that holds an earlier read. If the revision is unchanged, it returns known and decodes nothing.
func refresh[T any](ctx context.Context, s *Store, key Key[T], known Record[T]) (Record[T], error) {
	watch := begin(ctx, opGet)
	entry, err := s.buckets.Get(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return refreshed(key, known, entry, err)
}

// RefreshLeader is GetLeader for a caller that holds an earlier read; see [refresh].
func RefreshLeader[T any](ctx context.Context, s *Store, key Key[T], known Record[T]) (Record[T], error) {
	watch := begin(ctx, opGetLeader)
	entry, err := s.buckets.GetLeader(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return refreshed(key, known, entry, err)
}

func refreshed[T any](key Key[T], known Record[T], entry Entry, err error) (Record[T], error) {
	if err == nil && entry.Revision == known.Revision {
		return known, nil
	}
	return decode[T](key.name, entry, err)
}

// Put writes a record if its revision is still the given one; revision 0 means that the record must not exist. It returns the new
// revision. The error is ErrConflict or an error of NATS; after the latter, the write may or may not have happened.
func Put[T any](ctx context.Context, s *Store, key Key[T], value *T, revision uint64) (uint64, error) {
	data, err := encode(key.name, value)
	if err != nil {
		return 0, err
	}
	bucket := s.bucket(key.schedule)
	var next uint64
	watch := begin(ctx, opPut)
	if revision == 0 {
		next, err = s.buckets.Create(ctx, bucket, key.name, data)
	} else {
		next, err = s.buckets.Update(ctx, bucket, key.name, data, revision)
	}
	written[T](ctx, watch, len(data), err)
	return next, writing(key.name, err)
}

// Insert writes a record under a key that was never written. Unlike Put, it reports a conflict if a record under this key was deleted
// less than subjects.TombstoneAge ago. So a repeated request does no harm after its record has come and gone. The error is ErrConflict or
// an error of NATS.
func Insert[T any](ctx context.Context, s *Store, key Key[T], value *T) (uint64, error) {
	data, err := encode(key.name, value)
	if err != nil {
		return 0, err
	}
	watch := begin(ctx, opPut)
	revision, err := s.buckets.Update(ctx, s.bucket(key.schedule), key.name, data, 0)
	written[T](ctx, watch, len(data), err)
	return revision, writing(key.name, err)
}

// Delete removes a record if its revision is still the given one. A trace of it remains for subjects.TombstoneAge, so that a writer with
// the old revision fails. The error is ErrConflict or an error of NATS.
func Delete[T any](ctx context.Context, s *Store, key Key[T], revision uint64) error {
	return DeleteNoting(ctx, s, key, revision, Note{})
}

// DeleteNoting is [Delete] that also leaves a note in the record's trace, for [Trace]. One write does both.
func DeleteNoting[T any](ctx context.Context, s *Store, key Key[T], revision uint64, note Note) error {
	if revision == 0 {
		return fmt.Errorf("%w: %s: revision 0 is that of no record", ErrConflict, key.name)
	}
	return deleteAt(ctx, s, key, revision, note)
}

func encode[T any](name string, value *T) ([]byte, error) {
	data, err := codec.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("kv: encode %s: %w", name, err)
	}
	return data, nil
}

// decode decodes an entry, and names the record in the error of the read or the decoding.
func decode[T any](name string, entry Entry, err error) (Record[T], error) {
	switch {
	case errors.Is(err, ErrNotFound):
		return Record[T]{}, fmt.Errorf("%w: %s", ErrNotFound, name)
	case err != nil:
		return Record[T]{}, fmt.Errorf("kv: read %s: %w", name, err)
	}
	record := Record[T]{Revision: entry.Revision}
	if err := codec.Unmarshal(entry.Data, &record.Value); err != nil {
		return Record[T]{}, fmt.Errorf("%w: %s at revision %d: %w", ErrCorrupt, name, entry.Revision, err)
	}
	return record, nil
}

// writing adds the name of the record to the error of a write.
func writing(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrConflict):
		return fmt.Errorf("%w: %s", ErrConflict, name)
	}
	return fmt.Errorf("kv: write %s: %w", name, err)
}
