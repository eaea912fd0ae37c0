package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// update is the present definition with another spec, other policies, another limit, or some of these, and a conflict token:
// the right one, an older one, or none.
func (w *world) update(r *request, now time.Time) map[string]any {
	d, ok := w.stored(r.id)
	if !ok {
		return nil
	}
	v := w.variation(r.draw)
	body := bodyOf(&d.Schedule)
	v.vary(body, now)
	w.nameCalendars(r.id, body["spec"].(map[string]any), r.draw)
	r.asked = scheduleIn(body)
	switch {
	case v.one(3):
		r.token = d.Version
	case v.one(3) && d.Version > 1:
		r.token = d.Version - 1 - v.rng.Uint64N(d.Version-1)
	}
	if r.token > 0 {
		body["conflictToken"] = r.token
	}
	return body
}

// bodyOf is a schedule in the form of a request.
func bodyOf(s *schedule.Schedule) (body map[string]any) {
	data, err := apitext.EncodeJSON(s)
	if err != nil || json.Unmarshal(data, &body) != nil {
		panic("simulation: a definition that cannot be encoded")
	}
	return body
}

// scheduleIn is the schedule that a request asks for, in the form in which it is stored.
func scheduleIn(body map[string]any) []byte {
	var asked schedule.Schedule
	data, err := json.Marshal(body)
	if err == nil {
		err = apitext.DecodeJSON(data, &asked)
	}
	if err == nil {
		data, err = apitext.EncodeJSON(asked)
	}
	if err != nil {
		panic("simulation: " + err.Error())
	}
	return data
}

// variation draws other schedules.
type variation struct {
	rng *rand.Rand
	// begin is when the simulation begins, end when nothing may be due any more.
	begin, end time.Time
}

func (w *world) variation(draw uint64) *variation {
	end := w.moment(w.plan.Duration).UTC().Truncate(time.Second)
	return &variation{rng: rand.New(rand.NewPCG(draw, streamChanges)), begin: w.trace.begin, end: end}
}

func (v *variation) one(of int) bool { return v.rng.IntN(of) == 0 }

// vary changes parts of a schedule in the form of a request.
func (v *variation) vary(body map[string]any, now time.Time) {
	v.varySpec(body["spec"].(map[string]any), now)
	v.varyPolicies(part(body, "policies"))
	if v.one(4) {
		state := part(body, "state")
		delete(state, "limitedActions")
		delete(state, "remainingActions")
		if v.one(2) {
			state["limitedActions"], state["remainingActions"] = true, 1+v.rng.IntN(8)
		}
	}
	if v.one(6) {
		v.set(part(body, "action"), "workflowId", "w")
	}
	if v.one(3) {
		v.varyAction(part(body, "action"))
	}
}

// part returns a nested object, and adds it if it is absent.
func part(body map[string]any, name string) map[string]any {
	found, ok := body[name].(map[string]any)
	if !ok {
		found = map[string]any{}
		body[name] = found
	}
	return found
}

// set gives a field a value, or none.
func (v *variation) set(object map[string]any, field string, value any) {
	if v.one(2) {
		delete(object, field)
	} else {
		object[field] = value
	}
}

func (v *variation) varySpec(spec map[string]any, now time.Time) {
	if v.one(2) {
		every := 1 + v.rng.IntN(10)
		spec["intervals"] = []any{map[string]any{
			"every": fmt.Sprintf("%ds", every), "phase": fmt.Sprintf("%ds", v.rng.IntN(every)),
		}}
	}
	if v.one(4) {
		v.set(spec, "calendars", []any{map[string]any{"second": v.step(), "minute": "*", "hour": "*"}})
	}
	if v.one(4) {
		v.set(spec, "cron", []any{v.step() + " * * * * * *"})
	}
	if v.one(4) {
		v.set(spec, "at", []any{v.moment(now), v.moment(now)})
	}
	if v.one(3) {
		v.set(spec, "jitter", fmt.Sprintf("%dms", 1+v.rng.IntN(int(longestJitter/time.Millisecond))))
	}
	if v.one(5) {
		v.set(spec, "startTime", v.moment(now))
	}
	if v.one(5) {
		spec["endTime"] = v.moment(now)
	}
}

// longestJitter is how late a time becomes by its jitter, at most.
const longestJitter = 700 * time.Millisecond

// step is a field of a calendar.
func (v *variation) step() string { return fmt.Sprintf("*/%d", 3+v.rng.IntN(20)) }

// moment is a time that is to come, or was a short time ago.
func (v *variation) moment(now time.Time) string {
	from := maxTime(v.begin, minTime(now.Add(-3*time.Second), v.end.Add(-time.Second)))
	return from.Add(between(v.rng, 0, v.end.Sub(from))).UTC().Truncate(time.Second).Format(time.RFC3339)
}

func (v *variation) varyPolicies(policies map[string]any) {
	if v.one(3) {
		policies["overlap"] = string(overlapPolicies[v.rng.IntN(len(overlapPolicies))])
	}
	if v.one(3) {
		v.set(policies, "concurrencyLimit", 1+v.rng.IntN(3))
	}
	if v.one(4) {
		v.set(policies, "catchupWindow", "10s")
	}
	if v.one(4) {
		v.set(policies, "catchupMode", string(schedule.CatchupLatest))
	}
	if v.one(5) {
		v.set(policies, "pauseOnFailure", true)
	}
	if v.one(6) {
		v.set(policies, "keepOriginalWorkflowId", true)
	}
}
