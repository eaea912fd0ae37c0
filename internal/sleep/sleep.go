// Package sleep waits for a time. All code that does so uses it, so that the end of a context always cuts the wait short, and no timer is
// left behind.
//
// Every package may import it, and it imports nothing of Carillon. What waits for something to happen does not belong here.
package sleep

import (
	"context"
	"time"
)

// For waits for a time. One that is not positive is over at once. If ctx ends first, it returns the error of ctx.
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
