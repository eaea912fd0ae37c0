package kv

import (
	"context"
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Insert writes a record under a key that has never been written, not even deleted: a record deleted less than
// subjects.TombstoneAge ago is a conflict, other than for Put. It makes the repeat of a request harmless whose record
// has come and gone. The error is ErrConflict or one of NATS.
func Insert[T any](ctx context.Context, s *Store, key Key[T], value *T) (uint64, error) {
	data, err := schedule.Marshal(value)
	if err != nil {
		return 0, fmt.Errorf("kv: encode %s: %w", key.name, err)
	}
	revision, err := s.bucket(key.schedule).Update(ctx, key.name, data, 0)
	if err != nil {
		return 0, writeError(key.name, err)
	}
	return revision, nil
}
