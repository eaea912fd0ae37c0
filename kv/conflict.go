package kv

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxAttempts is how often Attempt calls a transition.
const maxAttempts = 5

// Attempt calls a transition until it returns anything but these two:
//
//   - [ErrConflict]: another process was faster. The transition begins anew, with what that process has written.
//   - [ErrUnconfirmed]: what a replica said is not enough. The transition begins anew, with what the leader says.
//
// again is true from the second call on. Reads must then be from the leader: a replica that was behind may still be.
// After too many attempts Attempt gives up. Its error has the text of the last one, and is neither of the two: no caller shall
// answer it with attempts of its own.
func Attempt(transition func(again bool) error) error {
	var last error
	for try := range maxAttempts {
		last = transition(try > 0)
		if !errors.Is(last, ErrConflict) && !errors.Is(last, ErrUnconfirmed) {
			return last
		}
	}
	return errors.New("kv: gave up after " + strconv.Itoa(maxAttempts) + " attempts; the last one: " + last.Error())
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
