package natstest

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen. That happens within milliseconds; only a test that fails waits longer,
// and so the time is enough for a machine that is busy with many other tests.
const Patience = 2 * time.Minute

// Eventually waits for a condition to become true and fails the test when it does not within the limit. What says what
// is waited for: "the timer is gone".
func Eventually(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	const poll = 5 * time.Millisecond
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %s, still waiting until %s", limit, what)
		}
	}
}
