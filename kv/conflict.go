package kv

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxAttempts is how often RetryConflicts calls a transition.
const maxAttempts = 5

// RetryConflicts calls a transition again as long as it returns one of these errors, five times at most:
//
//   - [ErrConflict]: another process was faster. The transition begins again with what that process has written.
//   - [ErrUnconfirmed]: a replica's answer is not enough. The transition begins again with the leader's answer.
//
// The argument again is true from the second call on. Reads must then ask the leader, because a replica that was behind may still be
// behind. If the last call fails with one of these errors too, RetryConflicts returns an error with its text that does not wrap it, so that
// no caller tries again by itself.
func RetryConflicts(transition func(again bool) error) error {
	var last error
	for try := range maxAttempts {
		last = transition(try > 0)
		if !errors.Is(last, ErrConflict) && !errors.Is(last, ErrUnconfirmed) {
			return last
		}
	}
	return errors.New("kv: gave up after " + strconv.Itoa(maxAttempts) + " attempts; the last one: " + last.Error())
}

// Load reads a record for a transition of [RetryConflicts]: from any replica at first, and from the leader if again is true. A record that
// does not exist is a zero record.
func Load[T any](ctx context.Context, s *Store, key Key[T], again bool) (Record[T], error) {
	if again {
		return OrZero(GetLeader(ctx, s, key))
	}
	return OrZero(Get(ctx, s, key))
}

// OrZero turns ErrNotFound into a zero record with revision 0: the owner has not written the record yet.
func OrZero[T any](record Record[T], err error) (Record[T], error) {
	if errors.Is(err, ErrNotFound) {
		return Record[T]{}, nil
	}
	return record, err
}

// EnsureGone asks the leader whether a schedule is still gone, for a pool that has read a record of the schedule and wants to remove it.
// If the schedule was created again since, the error is ErrConflict. If it is created later, the removal itself conflicts.
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
