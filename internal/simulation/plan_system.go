package simulation

import (
	"math/rand/v2"
	"time"
)

// SystemPlan is the part of a plan that concerns the processes and their environment.
type SystemPlan struct {
	// Models is how many of the workers are models; the others are real. Unruly is the chance that a model breaks the protocol
	// with a run.
	Models int     `json:",omitzero"`
	Unruly float64 `json:",omitzero"`
	// Twin says that the last schedule is in another namespace, under the ID of the first.
	Twin bool `json:",omitzero"`
	// Together says that each process plays all roles.
	Together bool `json:",omitzero"`
	// DeletedConsumers is how often a consumer is deleted.
	DeletedConsumers int `json:",omitzero"`
	// Standstills is how often a process stands still for longer than the streams remember message IDs.
	Standstills int `json:",omitzero"`
	// LimitChanges is how often the limits of the namespace change.
	LimitChanges int `json:",omitzero"`
	// IdleTime is how long a schedule stays after it has nothing left to do; 0 means beyond the end of the simulation.
	IdleTime time.Duration `json:",omitzero"`
	// Volume says of what there is more than is done in one go. It is empty as a rule.
	Volume volume `json:",omitzero"`
	// Calendars is how many requests about named calendars callers make; 0 means that there are no calendars.
	Calendars int `json:",omitzero"`
	// Bulks is how many bulk operations there are.
	Bulks int `json:",omitzero"`
	// Recess is how long nothing happens in the middle of the plan, in addition to its duration. Absent says who is away then.
	Recess time.Duration `json:",omitzero"`
	Absent absence       `json:",omitzero"`
	// Scrubbers says that processes look for inconsistencies all the time, and repair them. Checks says that checks are started
	// by hand, again and again. In the end they must find nothing.
	Scrubbers bool `json:",omitzero"`
	Checks    bool `json:",omitzero"`
	// Losses is how many acknowledged messages JetStream loses.
	Losses int `json:",omitzero"`
}

func systemPlanOf(seed uint64) SystemPlan {
	var p SystemPlan
	rng := rand.New(rand.NewPCG(seed, streamWorkers))
	if rng.IntN(3) == 0 {
		p.Models, p.Unruly = 1, float64(rng.IntN(2))*0.2*rng.Float64()
	}
	rng = rand.New(rand.NewPCG(seed, streamTogether))
	p.Together = rng.IntN(4) == 0
	rng = rand.New(rand.NewPCG(seed, streamConsumers))
	p.DeletedConsumers = rng.IntN(6) / 4
	rng = rand.New(rand.NewPCG(seed, streamStandstills))
	p.Standstills = rng.IntN(5) / 4
	rng = rand.New(rand.NewPCG(seed, streamLimits))
	p.LimitChanges = max(rng.IntN(12)-8, 0)
	rng = rand.New(rand.NewPCG(seed, streamIdle))
	if rng.IntN(8) == 0 {
		p.IdleTime = between(rng, 2*time.Second, 20*time.Second)
	}
	p.recess(rand.New(rand.NewPCG(seed, streamRecess)))
	p.calendars(rand.New(rand.NewPCG(seed, streamCalendars)))
	p.scrub(rand.New(rand.NewPCG(seed, streamScrub)))
	p.bulks(rand.New(rand.NewPCG(seed, streamBulk)))
	return p
}

// skewFar lets the clocks of some plans differ by more than the lead of the generator's timers.
func (p *Plan) skewFar(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, streamFarSkew))
	if rng.IntN(8) == 0 {
		p.Skew = between(rng, 2*time.Second, 8*time.Second)
	}
}

// The streams of numbers for what the system does, in addition to those of plan.go.
const (
	streamWorkers uint64 = 100 + iota
	streamTogether
	streamConsumers
	streamStandstills
	streamFarSkew
	streamIdle
	streamVolume
	streamRecess
	streamTrap
	streamLimits    uint64 = 116
	streamCalendars uint64 = 117
	streamBacklog   uint64 = 118
	streamScrub     uint64 = 140
	streamLosses    uint64 = 141
	streamBulk      uint64 = 119
	streamTwin      uint64 = 142
)
