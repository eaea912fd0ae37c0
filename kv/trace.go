package kv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TraceAge is for how long after it was read who writes a first record may rely on the trace that would be there if the
// schedule had been deleted since: well below subjects.TombstoneAge.
const TraceAge = 10 * time.Minute

// LeaveTrace leaves the trace of a record that was never written, for a schedule that is gone: a process that is about to
// write the first one by [Insert], since it has read the definition before, must be refused. Where there is a trace
// already, that is the one. A record that has just been written is a conflict.
func LeaveTrace[T any](ctx context.Context, s *Store, key Key[T]) error {
	var zero T
	revision, err := Insert(ctx, s, key, &zero)
	if err == nil {
		return Delete(ctx, s, key, revision)
	}
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
