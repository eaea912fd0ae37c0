package simulation

import (
	"math/rand/v2"
	"time"
)

// Plan says what goes wrong in a simulation, and how long it takes. The zero Plan has no faults.
type Plan struct {
	Schedules int
	// Often says that the schedules are due every second or two.
	Often bool `json:",omitzero"`
	// Duration is how long things go wrong and callers change things. After it everything under way must come to an end.
	Duration time.Duration
	// Requests is how many requests callers make.
	Requests int

	// Crash is the chance that a process is killed before a call takes effect, and the chance that it is killed after.
	Crash float64 `json:",omitzero"`
	// LostRequest and LostReply are the chances that a call, or its answer, is lost.
	LostRequest, LostReply float64 `json:",omitzero"`
	// Duplicate is the chance that a published message arrives twice.
	Duplicate float64 `json:",omitzero"`
	// Stale is the chance that a replica answers that is behind.
	Stale float64 `json:",omitzero"`
	// Slow says that a few messages take seconds.
	Slow bool `json:",omitzero"`
	// HeldUp is the chance that a hand-off to the invoker takes seconds: on its way to JetStream, from there to an invoker, or
	// its acknowledgement back. So hand-offs overlap, and overtake each other.
	HeldUp float64 `json:",omitzero"`
	// Redelivered is the chance that a generator's task is delivered once more while it is worked on, perhaps to another
	// generator.
	Redelivered float64 `json:",omitzero"`
	// Skew is how far the clocks of processes are off, at most, in both directions. They jump now and then.
	Skew time.Duration `json:",omitzero"`
	// Restarts is how often a process is stopped in order, Suspensions how often one stands still for a while, Outages how
	// often JetStream cannot be reached.
	Restarts, Suspensions, Outages int `json:",omitzero"`
	// PowerCuts is how often all processes are killed at once. Full is how often JetStream has no room for new messages for a
	// while.
	PowerCuts, Full int `json:",omitzero"`
	// Elections is how often JetStream has new leaders, which deliver again everything unacknowledged.
	Elections int `json:",omitzero"`
	// MaxBacklog is the setting of the generator's configuration.
	MaxBacklog int `json:",omitzero"`
	// Freezes is how often the namespace is frozen for a while. ActionsPerSecond and MaxPendingRuns are its limits.
	Freezes          int     `json:",omitzero"`
	ActionsPerSecond float64 `json:",omitzero"`
	MaxPendingRuns   int     `json:",omitzero"`

	// Executions is how many workflows there are. Where there are some, there are no schedules.
	Executions int `json:",omitzero"`
	// Retention is how long the namespace keeps runs of workflows after their end; zero means for longer than the simulation.
	Retention time.Duration `json:",omitzero"`

	SystemPlan
}

// PlanOf draws the plan of a seed.
func PlanOf(seed uint64) Plan {
	rng := rand.New(rand.NewPCG(seed, streamPlan))
	some := func(p float64) float64 {
		if rng.IntN(3) == 0 {
			return 0
		}
		return p * rng.Float64()
	}
	plan := Plan{
		Schedules: 1 + rng.IntN(4), Duration: time.Duration(15+rng.IntN(35)) * time.Second, Requests: rng.IntN(20),
		Crash: some(0.004), LostRequest: some(0.01), LostReply: some(0.01), Duplicate: some(0.01), Stale: some(0.3),
		Slow: rng.IntN(2) == 0, Skew: time.Duration(some(2) * float64(time.Second)),
		Restarts: rng.IntN(4), Suspensions: rng.IntN(3), Outages: rng.IntN(2),
		PowerCuts: rng.IntN(4) / 3, Full: rng.IntN(3) / 2, MaxBacklog: rng.IntN(3),
		Freezes: rng.IntN(4), ActionsPerSecond: float64(rng.IntN(6)/4) * (0.5 + 3*rng.Float64()), MaxPendingRuns: rng.IntN(6) / 5 * 3,
		Elections: rng.IntN(4), SystemPlan: systemPlanOf(seed),
	}
	if rng.IntN(4) == 0 {
		plan.jam(rng)
	}
	plan.skewFar(seed)
	plan.swell(seed)
	plan.twin(seed)
	return plan
}

// jam makes hand-offs of times that are given up overlap and arrive out of order. That takes several things at once: two
// generators that work on one schedule, a hand-off that the next but one overtakes, times that follow each other closely, and a
// freeze.
func (p *Plan) jam(rng *rand.Rand) {
	p.HeldUp, p.Redelivered = 0.5+0.3*rng.Float64(), 0.5+0.3*rng.Float64()
	p.Often, p.Freezes = true, 3
	p.Requests /= 8 // the checks are less strict where callers change things
}

// Each topic draws from its own stream of numbers. So a plan with one kind of fault less is still almost the same simulation.
const (
	streamNetwork uint64 = iota
	streamPlan
	streamCallers
	streamFaults
	streamChanges
	streamMore
	streamExecutions
	streamClients
	streamActivities
)
