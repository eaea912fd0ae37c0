package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TraceAge is how long after a read the writer of a first record may rely on traces: if the schedule or the record was deleted since the
// read, its trace is still there. It is well below subjects.TombstoneAge.
const TraceAge = 10 * time.Minute

// LeaveTrace leaves the trace of a record that was never written, for a schedule that is gone. Another process may have read the
// definition before, and may be about to write the first record by [PutFirst] or [Insert]; the trace makes that write fail. If there is a
// trace already, LeaveTrace does nothing. If the record has just been written, the error is ErrConflict.
func LeaveTrace[T any](ctx context.Context, s *Store, key Key[T]) error {
	err := deleteAt(ctx, s, key, 0, Note{})
	if !errors.Is(err, ErrConflict) {
		return err
	}
	_, err = GetLeader(ctx, s, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s has just been written", ErrConflict, key.name)
	}
	return err
}

// PutFirst writes the first record of a schedule under a key. If the schedule was deleted and forgotten meanwhile, there is a trace, and
// PutFirst writes nothing. It overwrites the trace of an earlier schedule with the same ID.
//
// The function there asks the leader whether the schedule still exists, and returns [ErrConflict] if not. The duration known says how long
// ago the writer last knew that it existed. The error comes from there, is ErrConflict if a record exists, or is an error of NATS.
func PutFirst[T any](
	ctx context.Context, s *Store, key Key[T], value *T, known time.Duration, there func(context.Context) error,
) (uint64, error) {
	revision, err := Insert(ctx, s, key, value)
	if err == nil && known < TraceAge {
		return revision, nil
	}
	if errors.Is(err, ErrConflict) {
		if err = there(ctx); err == nil {
			revision, err = Put(ctx, s, key, value, 0)
		}
	}
	if err != nil {
		return 0, err
	}
	err = there(ctx)
	if errors.Is(err, ErrConflict) {
		// Nobody may mistake it for the forgotten record.
		_ = Delete(ctx, s, key, revision) // else whoever meets it forgets it
	}
	return revision, err
}

// StillThere asks the leader whether the schedule of an incarnation still exists. The error is [ErrConflict] if it was deleted or replaced,
// or an error of NATS.
func StillThere(ctx context.Context, s *Store, key schedule.Key, incarnation string) error {
	definition, err := OrZero(GetLeader(ctx, s, Definition(key)))
	if err == nil && definition.Value.Incarnation != incarnation {
		return fmt.Errorf("%w: %s has been deleted or replaced", ErrConflict, key)
	}
	return err
}

// deleteAt leaves the trace of a record at a revision; revision 0 means that the record was never written.
func deleteAt[T any](ctx context.Context, s *Store, key Key[T], revision uint64, note Note) error {
	watch := begin(ctx, opDelete)
	err := s.buckets.Delete(ctx, s.bucket(key.schedule), key.name, revision, note)
	written[T](ctx, watch, 0, err)
	return writing(key.name, err)
}
