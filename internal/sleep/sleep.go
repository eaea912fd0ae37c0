// Package sleep waits for a time. All code that waits for a time uses it, so that the end of a context always ends the wait, and
// no timer is left behind.
//
// Every package may import it, and it imports nothing of Carillon. Waiting for an event does not belong here.
package sleep

import (
	"context"
	"time"
)

// For waits for a time. A time that is not positive is over at once. If ctx ends first, For returns the error of ctx.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
