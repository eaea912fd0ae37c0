package simulation

import (
	"math/rand/v2"
	"time"
)

// Plan is what goes wrong in a simulation, and how long it takes. The zero Plan has no faults.
type Plan struct {
	Schedules int
	// Duration is how long things go wrong and people change things; after it all that is under way must come to an end.
	Duration time.Duration
	// Requests is how many requests people make.
	Requests int

	// Crash is the chance that a process is killed before, and after, a call of it takes effect.
	Crash float64
	// LostRequest and LostReply are the chances that a call, or the answer to it, is lost.
	LostRequest, LostReply float64
	// Stale is the chance that a replica answers that is behind.
	Stale float64
	// Slow says that a few messages take seconds.
	Slow bool
	// Skew is how far the clocks of processes are off, at most, in both directions; they jump now and then.
	Skew time.Duration
	// Restarts, Suspensions and Outages are how often a process is stopped in order, how often one stands still for a
	// while, and how often JetStream cannot be reached.
	Restarts, Suspensions, Outages int
}

// planOf draws a plan from a seed.
func planOf(rng *rand.Rand) Plan {
	some := func(p float64) float64 {
		if rng.IntN(3) == 0 {
			return 0
		}
		return p * rng.Float64()
	}
	return Plan{
		Schedules: 1 + rng.IntN(4), Duration: time.Duration(20+rng.IntN(40)) * time.Second, Requests: rng.IntN(20),
		Crash: some(0.004), LostRequest: some(0.01), LostReply: some(0.01), Stale: some(0.3), Slow: rng.IntN(2) == 0,
		Skew:     time.Duration(some(2) * float64(time.Second)),
		Restarts: rng.IntN(4), Suspensions: rng.IntN(3), Outages: rng.IntN(2),
	}
}
