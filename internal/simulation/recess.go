package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Some plans have a recess: in the middle of everything, for minutes or for more than an hour, nobody asks for anything and
// nothing is due. By its end the streams have forgotten message IDs and, after a long recess, the traces of deleted records.
// What was under way when it began still exists, perhaps half done, and must be continued from the stored state alone.

// absence says who is away in a recess.
type absence string

const (
	// absentNobody: all processes are there, and have nothing to do.
	absentNobody absence = "nobody"
	// absentAll: all were killed when it began, and are started again when it is over.
	absentAll absence = "all"
	// absentPools: the same for the pools and frontends. Workers continue with the runs they have, and with those in the queue.
	absentPools absence = "pools"
	// absentOne: one process stands still after it has read a record, from some time before the recess until the recess is
	// over.
	absentOne absence = "one"
	// absentGenerators: the same for the generators. The others go on, and nobody knows what is due. This is for plans with a
	// backlog.
	absentGenerators absence = "generators"
)

const (
	shortRecess = subjects.DuplicateWindow + time.Minute
	longRecess  = subjects.TombstoneAge + time.Minute
	// moreRecess is by how much a recess may be longer.
	moreRecess = 10 * time.Minute
)

// recess draws a recess for some plans.
func (p *SystemPlan) recess(rng *rand.Rand) {
	if rng.IntN(12) > 0 {
		return
	}
	p.Absent = []absence{absentNobody, absentAll, absentPools, absentPools, absentOne}[rng.IntN(5)]
	p.Recess = longRecess
	if rng.IntN(3) == 0 {
		p.Recess = shortRecess
	}
	p.Recess += between(rng, 0, moreRecess).Truncate(time.Second)
}

// recess is its time; both are zero where there is none.
type recess struct{ from, to time.Time }

func (r *recess) covers(now time.Time) bool { return !now.Before(r.from) && now.Before(r.to) }

// recessOf draws when the recess of a plan begins: not before schedules exist.
func recessOf(seed uint64, plan *Plan, begin time.Time) recess {
	if plan.Recess == 0 {
		return recess{}
	}
	rng := rand.New(rand.NewPCG(seed, streamRecess))
	from := begin.Add(between(rng, min(6*time.Second, plan.Duration/2), plan.Duration))
	return recess{from, from.Add(plan.Recess)}
}

// moment is a time of the plan, counted from the beginning. The recess does not count.
func (w *world) moment(after time.Duration) time.Time {
	at := w.trace.begin.Add(after)
	if w.plan.Recess > 0 && at.After(w.recess.from) {
		at = at.Add(w.plan.Recess)
	}
	return at
}

// arrangeRecess plans who is away in the recess.
func (w *world) arrangeRecess() {
	if w.plan.Recess == 0 {
		return
	}
	w.at(w.recess.from, func(now time.Time) {
		w.fault("recess, absent: " + string(w.plan.Absent))
		w.trace.note(now, "RECESS", fmt.Sprintf("for %s, absent: %s", w.plan.Recess, w.plan.Absent))
		for _, n := range w.nodes {
			if w.isAbsent(n.role) {
				w.crash(n, now, "for the recess: "+n.name)
			}
		}
	})
	w.at(w.recess.to, func(now time.Time) {
		w.trace.note(now, "RESUME", "")
		for shard := range shards {
			stream := subjects.BucketStream(w.names.StateBucket(shard))
			w.caughtUp[stream] = w.server.LastSequence(stream)
		}
	})
	if w.plan.Absent == absentOne {
		rng := rand.New(rand.NewPCG(w.seed, streamTrap))
		w.trapFrom = w.trace.begin.Add(between(rng, 0, w.recess.from.Sub(w.trace.begin)))
		w.trapped = rng.IntN(4 * each) // no worker: workers write no records
	}
}

// isAbsent reports whether all processes of a role are away in the recess.
func (w *world) isAbsent(role string) bool {
	return w.plan.Absent == absentAll || w.plan.Absent == absentGenerators && role == roleGenerator || w.plan.Absent == absentPools && (role != roleWorker || w.plan.Together)
}

// trap makes the process of the plan stand still when one of its calls reads a record for the first time after trapFrom.
func (w *world) trap(c *call, now time.Time) {
	if w.trapped < 0 || c.node.number != w.trapped || now.Before(w.trapFrom) || !now.Before(w.recess.from) || c.what != whatGet && c.what != whatLeader {
		return
	}
	w.trapped = -1
	w.standStill(c.node, now, w.recess.to.Add(w.duration(0, 5*time.Second)).Sub(now))
}

// isTooOld reports whether a call must not wait in a process that stands still. By the end nothing would tell that it is too
// old: the stream has forgotten its ID, or the bucket has forgotten the trace of the record that it writes.
func (w *world) isTooOld(c *call) bool {
	return c.node.standstill && (c.identified || w.plan.Absent == absentOne && (c.what == whatCreate || c.what == whatUpdate))
}

// resume plans what callers ask for when they are back: they create each schedule that no longer exists.
func (p *callers) resume() {
	w := p.world
	if w.plan.Recess == 0 {
		return
	}
	m := &callers{world: w, rng: rand.New(rand.NewPCG(w.seed, streamTrap)), begin: p.begin}
	m.draws = m.rng
	for i := range w.plan.Schedules {
		at := w.recess.to.Add(between(m.rng, 0, 8*time.Second))
		w.ask(at, request{verb: "create", id: w.plan.scheduleID(i), body: m.definition(schedule.OverlapAllowAll, at)})
	}
}

// blackoutOfRecess is a blackout that covers the recess.
func (w *world) blackoutOfRecess() map[string]any {
	return map[string]any{
		"from": w.recess.from.UTC().Truncate(time.Second).Format(time.RFC3339),
		"to":   w.recess.to.UTC().Truncate(time.Second).Format(time.RFC3339),
	}
}

// stays reports whether a process must stay away for now, because the recess lasts.
func (w *world) stays(n *node, now time.Time) bool {
	return w.recess.covers(now) && w.isAbsent(n.role)
}

// again finds events that were stored twice in a row. Before a process stores an event that is older than the memory of the
// stream, it must look whether the stream has it as the last of its kind.
func (c *checker) again() {
	if c.plan.Standstills > 0 || c.plan.Absent == absentOne {
		return // a process may have stood still between that look and the write
	}
	last := map[schedule.EventKind]string{}
	events := c.history(c.id)
	for i := range events {
		e := &events[i]
		if last[e.Kind] == e.ID {
			c.find("events", "%s is there twice, one after the other", e.ID)
		}
		last[e.Kind] = e.ID
	}
}
