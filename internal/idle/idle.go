// Package idle waits. Whatever waits for a time does it here, so that the end of a context always cuts it short and no timer
// is left behind.
//
// It may be imported from everywhere and imports nothing of Carillon. What waits for something to happen does not belong here.
package idle

import (
	"context"
	"time"
)

// For waits for a time, which is over at once unless it is positive. If ctx ends before, it returns the error of that.
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
