package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// more plans further requests, of richer kinds: a third of the number that a plan has.
func (p *callers) more() {
	m := &callers{world: p.world, rng: rand.New(rand.NewPCG(p.world.seed, streamMore)), begin: p.begin}
	for range p.world.plan.Requests / 3 {
		id := m.world.plan.scheduleID(m.rng.IntN(m.world.plan.Schedules))
		m.world.ask(m.world.moment(between(m.rng, 5*time.Second, m.world.plan.Duration)), m.oneMore(id))
	}
}

func (p *callers) oneMore(id string) request {
	switch p.rng.IntN(6) {
	case 0, 1:
		return request{verb: "trigger", id: id, body: p.trigger()}
	case 2:
		return request{verb: "cancelRun", id: id, draw: p.rng.Uint64()}
	case 3:
		return request{verb: "terminateRun", id: id, draw: p.rng.Uint64()}
	case 4:
		body := p.backfill()
		p.overlap(body)
		return request{verb: "backfill", id: id, body: body}
	}
	return request{verb: "patch", id: id, body: map[string]any{
		"backfills": []any{p.backfill(), p.backfill()}, "skip": map[string]any{"count": 1}, "unskip": map[string]any{},
	}}
}

// trigger is the body of a trigger that has its own overlap policy, or replaces parts of the action.
func (p *callers) trigger() map[string]any {
	body := map[string]any{}
	p.overlap(body)
	if p.one(2) {
		body["input"] = map[string]any{"n": p.rng.IntN(100)}
	}
	if p.one(2) {
		body["headers"] = map[string]any{"b": "by hand", "c": fmt.Sprint(p.rng.IntN(100))}
	}
	if p.one(2) {
		body["memo"] = map[string]any{"b": p.rng.IntN(100)}
	}
	if p.one(2) {
		body["note"] = "it is needed"
	}
	return body
}

func (p *callers) overlap(body map[string]any) {
	if p.one(2) {
		body["overlap"] = string(overlapPolicies[p.rng.IntN(len(overlapPolicies))])
	}
}

// backfill is the body of a backfill of up to a minute within the last two.
func (p *callers) backfill() map[string]any {
	from := p.begin.Add(-between(p.rng, time.Second, 2*time.Minute)).UTC().Truncate(time.Second)
	to := from.Add(between(p.rng, 0, time.Minute)).Truncate(time.Second)
	return map[string]any{"start": from.Format(time.RFC3339), "end": to.Format(time.RFC3339)}
}

// initial adds to a create request what is to be started at once.
func (p *callers) initial(body map[string]any) {
	draws := &callers{rng: p.draws, begin: p.begin}
	if draws.one(5) {
		body["triggerNow"] = true
	}
	if draws.one(6) {
		body["backfills"] = []any{draws.backfill(), draws.backfill()}
	}
}

// deleteAgain repeats a delete: under the same request ID, which spares a later schedule, or under another one.
func (p *callers) deleteAgain(at time.Time, id, requestID string) {
	later := at.Add(between(p.draws, 0, 10*time.Second))
	switch p.draws.IntN(3) {
	case 0:
		p.world.ask(later, request{verb: "delete", id: id, body: map[string]any{}, name: requestID})
	case 1:
		p.world.ask(later, request{verb: "delete", id: id, body: map[string]any{}})
	}
}

// anyRun names a run that is in progress by the invoker's record; nil if there is none.
func (w *world) anyRun(r *request) map[string]any {
	key := keyOf(r.id)
	state, _ := record(w, key, kv.Invoker(key))
	var running []string
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Running() {
			running = append(running, s.RunID, s.WorkflowID, s.RequestID)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return map[string]any{"run": running[r.draw%uint64(len(running))], "reason": "by hand"}
}

// varyAction changes what runs are told, or removes it.
func (v *variation) varyAction(action map[string]any) {
	v.set(action, "input", map[string]any{"m": v.rng.IntN(100)})
	v.set(action, "headers", map[string]any{"a": fmt.Sprint(v.rng.IntN(100)), "b": "by the schedule"})
	v.set(action, "memo", map[string]any{"a": v.rng.IntN(100), "b": "by the schedule"})
}

// ended: if a caller was told that a run is asked to end, the run was told, or it had ended by itself, perhaps in a recess of
// the invokers.
func (c *checker) ended(r *request) {
	reply, ok := r.answer.(schedule.EndRunReply)
	if !ok || r.err != nil || reply.Run.Status != "" {
		return
	}
	for i := range c.events {
		e := &c.events[i]
		if e.RequestID == reply.Run.RequestID && (e.Kind == schedule.EventTerminated || e.Kind == schedule.EventCancelRequested) {
			return
		}
	}
	run := c.ledger.runs[reply.Run.RequestID]
	if run == nil || run.ended.After(r.to.Add(c.plan.memory()+c.plan.Recess)) {
		c.find("by hand", "%s was asked to end at %s, and nobody has told it", reply.Run.WorkflowID, r.to.Sub(c.trace.begin))
	}
}
