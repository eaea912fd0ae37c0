package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TraceAge is for how long after it was read who writes a first record may rely on the trace that would be there if the
// schedule had been deleted since, or the record: well below subjects.TombstoneAge.
const TraceAge = 10 * time.Minute

// LeaveTrace leaves the trace of a record that was never written, for a schedule that is gone: a process that is about to
// write the first one by [PutFirst] or [Insert], since it has read the definition before, must be refused. Where there is a
// trace already, that is the one. A record that has just been written is a conflict.
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

// PutFirst writes the first record of a schedule under a key. The schedule may have been deleted meanwhile, and forgotten:
// then there is a trace, and nothing is written. The trace of an earlier schedule of the same ID is written over.
//
// there asks the leader whether the schedule is there still, and returns [ErrConflict] if it is not; known is how long ago the
// writer has last known that it was. The error is that of there, ErrConflict if there is a record, or one of NATS.
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
		// Nobody may take it for the record that was forgotten.
		_ = Delete(ctx, s, key, revision) // else whoever meets it forgets it
	}
	return revision, err
}

// StillThere asks the leader whether the schedule of an incarnation is there still. The error is [ErrConflict] if it has been deleted
// or replaced, or one of NATS.
func StillThere(ctx context.Context, s *Store, key schedule.Key, incarnation string) error {
	definition, err := OrZero(GetLeader(ctx, s, Definition(key)))
	if err == nil && definition.Value.Incarnation != incarnation {
		return fmt.Errorf("%w: %s has been deleted or replaced", ErrConflict, key)
	}
	return err
}

// deleteAt leaves the trace of a record that is at a revision; 0 means that it was never written.
func deleteAt[T any](ctx context.Context, s *Store, key Key[T], revision uint64, note Note) error {
	watch := begin(ctx, opDelete)
	err := s.buckets.Delete(ctx, s.bucket(key.schedule), key.name, revision, note)
	written[T](ctx, watch, 0, err)
	return writing(key.name, err)
}
