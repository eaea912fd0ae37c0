package kv

import (
	"errors"
	"fmt"
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
