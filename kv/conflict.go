package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxConflicts is how many conflicts in a row Attempt takes for bad luck.
const maxConflicts = 5

// Attempt calls a transition until it ends without [ErrConflict], which says that another process was faster: the
// transition begins anew then, with what that one has written. again is true from the second call on; by then reads must
// be from the leader, since a replica that was behind still may be.
func Attempt(transition func(again bool) error) error {
	for try := range maxConflicts {
		err := transition(try > 0)
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("kv: %d conflicts in a row", maxConflicts)
}

// Load reads a record for a transition of [Attempt]: from any replica at first, from the leader again. A record that does
// not exist is a zero one.
func Load[T any](ctx context.Context, s *Store, key Key[T], again bool) (Record[T], error) {
	if again {
		return OrZero(GetLeader(ctx, s, key))
	}
	return OrZero(Get(ctx, s, key))
}

// OrZero takes a record that does not exist for a zero one, of revision 0: its owner has not written it yet.
func OrZero[T any](record Record[T], err error) (Record[T], error) {
	if errors.Is(err, ErrNotFound) {
		return Record[T]{}, nil
	}
	return record, err
}

// EnsureGone asks the leader whether a schedule is still gone, for a pool that has read a record of it in order to
// remove it. One that has been created again since is a conflict; one that comes later conflicts with the removal.
func EnsureGone(ctx context.Context, s *Store, key schedule.Key) error {
	_, err := GetLeader(ctx, s, Definition(key))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s has been created again", ErrConflict, key)
	}
	return err
}
