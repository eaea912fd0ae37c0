package alarm

import "time"

// bell rings at one time.
type bell interface {
	// set sets it to ring when a time is over, instead of when it was to ring before.
	set(d time.Duration)
	// wait waits until it rings; false means that it never will again.
	wait() bool
	close()
}
