package publish

import (
	"context"
	"errors"
	"sync/atomic"
)

var unanswered atomic.Uint64

// Unanswered counts the messages of this process that no stream has acknowledged in time, while there was a connection: what NATS
// does when a stream has no leader, or refuses all writes since one has failed. It is safe for concurrent use.
func Unanswered() uint64 { return unanswered.Load() }

// late counts a message that was given up.
func late(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		unanswered.Add(1)
	}
}
