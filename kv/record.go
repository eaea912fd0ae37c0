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
	// ErrConflict: the record has been written since it was read, or exists where it was to be created.
	ErrConflict = errors.New("kv: record has another revision")
	// ErrUnconfirmed: what a replica says is not enough for what is to be done; the leader must be asked. A transition of [Attempt]
	// returns it to begin anew. No other process has come first.
	ErrUnconfirmed = errors.New("kv: a replica says so, and the leader has not confirmed it")
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
	watch := begin(ctx, opGet)
	entry, err := s.buckets.Get(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return decode[T](key.name, entry, err)
}

// GetLeader reads a record from the leader of its bucket: what was acknowledged before is seen. It costs more than Get.
func GetLeader[T any](ctx context.Context, s *Store, key Key[T]) (Record[T], error) {
	watch := begin(ctx, opGetLeader)
	entry, err := s.buckets.GetLeader(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return decode[T](key.name, entry, err)
}

// Refresh is Get for who has the record as it was: at the same revision it is the same, and known is returned, which is
// not decoded once more.
func Refresh[T any](ctx context.Context, s *Store, key Key[T], known Record[T]) (Record[T], error) {
	watch := begin(ctx, opGet)
	entry, err := s.buckets.Get(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	return refreshed(key, known, entry, err)
}

// RefreshLeader is GetLeader for who has the record as it was; see [Refresh].
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

// Put writes a record if its revision is still the given one; 0 means that it must not exist. It returns the new
// revision. The error is ErrConflict or one of NATS; after the latter the write may or may not have happened.
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

// Insert writes a record under a key that has never been written, not even deleted: a record deleted less than
// subjects.TombstoneAge ago is a conflict, other than for Put. It makes the repeat of a request harmless whose record
// has come and gone. The error is ErrConflict or one of NATS.
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

// Delete removes a record if its revision is still the given one. A trace of it remains for subjects.TombstoneAge, so
// that a writer with the old revision fails. The error is ErrConflict or one of NATS.
func Delete[T any](ctx context.Context, s *Store, key Key[T], revision uint64) error {
	return DeleteNoting(ctx, s, key, revision, Note{})
}

// DeleteNoting is [Delete], and leaves a note in the trace of the record, for [Trace]. They are written in one step.
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

// decode decodes what was read, and names the record in the error of that.
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

// writing names the record in the error of a write.
func writing(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrConflict):
		return fmt.Errorf("%w: %s", ErrConflict, name)
	}
	return fmt.Errorf("kv: write %s: %w", name, err)
}
