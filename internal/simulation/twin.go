package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// In some plans the last schedule is in another namespace, under the ID of the first. That namespace has its own workers,
// calendars of the same names, and its own freezes and limits. Nothing of one namespace may reach the other.
//
// Throughout the simulation each schedule and calendar has one name: its ID, with the other namespace in front if it is in
// there.

// otherSpace is the other namespace. The first schedule of each is in the same shard.
const otherSpace = "other"

// twin draws a second namespace for some plans.
func (p *Plan) twin(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, streamTwin))
	p.Twin = rng.IntN(4) == 0 && p.Schedules > 1 && p.Volume == ""
}

// spaces are the namespaces.
func (p *Plan) spaces() []string {
	if p.Twin {
		return []string{namespace, otherSpace}
	}
	return []string{namespace}
}

// scheduleID names a schedule of the simulation.
func (p *Plan) scheduleID(number int) string {
	if p.Twin && number > 0 && number == p.Schedules-1 {
		return nameOf(schedule.Key{Namespace: otherSpace, ID: "s0"})
	}
	return fmt.Sprintf("s%d", number)
}

// inSpace separates a namespace from the ID.
const inSpace = ":"

// nameOf is the name of a schedule or calendar in the simulation.
func nameOf(key schedule.Key) string {
	if key.Namespace == namespace {
		return key.ID
	}
	return key.Namespace + inSpace + key.ID
}

// keyOf is the key of a schedule or calendar by its name.
func keyOf(name string) schedule.Key {
	if space, id, other := strings.Cut(name, inSpace); other {
		return schedule.Key{Namespace: space, ID: id}
	}
	return schedule.Key{Namespace: namespace, ID: name}
}

// sibling is the name of an ID in the same namespace as another name.
func sibling(name, id string) string {
	return nameOf(schedule.Key{Namespace: keyOf(name).Namespace, ID: id})
}

// idOf is the name of the schedule of a run.
func idOf(request *schedule.ActionRequest) string {
	return nameOf(schedule.Key{Namespace: request.Namespace, ID: request.ScheduleID})
}
