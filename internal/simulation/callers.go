package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// request is a request of a caller to the API. Like a client, the caller repeats it under the same request ID while it may not
// have been carried out.
type request struct {
	verb, id string
	body     map[string]any
	// from is when it was first asked, to when its outcome was known. Both are zero before that.
	from, to time.Time
	answer   any
	err      error
	// draw is the number that an update is drawn from, token its conflict token, asked the schedule that it asks for.
	draw  uint64
	token uint64
	asked []byte
	// tries is how often it was asked.
	tries int
	// last says that it is an unpause that is asked only if the schedule is paused.
	last bool
	// times is how many times a large backfill is to have.
	times int
	// name is its request ID, if it reuses that of another request.
	name string
}

// changes reports whether it may let a schedule run that did not run before, or change it.
func (r *request) changes() bool {
	switch r.verb {
	case "create", "update", "unpause", "patch", "delete":
		return true
	}
	return false
}

// remembered is how long a repeat of a trigger, a backfill or a delete is recognized at least, by docs/api.md.
const remembered = time.Hour

// isForgotten reports whether a repeat may be taken for a new request. Then nobody repeats it.
func (r *request) isForgotten(now time.Time) bool {
	return slices.Contains([]string{"trigger", "backfill", "volume", "delete"}, r.verb) && now.Sub(r.from) > remembered
}

// overlapPolicies are all overlap policies. Seeds depend on their order: a new one goes to the end.
var overlapPolicies = []schedule.OverlapPolicy{
	schedule.OverlapAllowAll, schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll,
	schedule.OverlapCancelOther, schedule.OverlapTerminateOther,
}

// callers plans what callers ask for.
func (w *world) callers(begin time.Time) {
	p := &callers{
		world: w, rng: rand.New(rand.NewPCG(w.seed, streamCallers)), draws: rand.New(rand.NewPCG(w.seed, streamChanges)), begin: begin,
	}
	for i := range w.plan.Schedules {
		id := w.plan.scheduleID(i)
		policy := overlapPolicies[p.rng.IntN(len(overlapPolicies))]
		at := begin.Add(between(p.rng, 20*time.Millisecond, 5*time.Second))
		body := p.definition(policy, at)
		p.initial(body)
		if id == heapedID && w.plan.Volume != "" {
			p.heap(body)
		}
		w.ask(at, request{verb: "create", id: id, body: body})
	}
	for range w.plan.Requests {
		id := w.plan.scheduleID(p.rng.IntN(w.plan.Schedules))
		at := w.moment(between(p.rng, 5*time.Second, w.plan.Duration))
		if p.rng.IntN(12) > 0 {
			w.ask(at, p.anyRequest(id))
			continue
		}
		p.deleteAgain(at, id, w.ask(at, request{verb: "delete", id: id, body: map[string]any{}}))
		if p.rng.IntN(3) > 0 { // with a policy that allows the remains of the old one
			at := at.Add(between(p.rng, 0, 3*time.Second))
			w.ask(at, request{verb: "create", id: id, body: p.definition(schedule.OverlapAllowAll, at)})
		}
	}
	p.calendars()
	p.bulks()
	p.more()
	p.volume()
	p.resume()
	// In the end everything is to come to rest. Where messages are lost, this must not wake a schedule that is not paused.
	for i := range w.plan.Schedules {
		id := w.plan.scheduleID(i)
		w.ask(w.moment(w.plan.Duration).Add(time.Second), request{verb: "unpause", id: id, body: map[string]any{}, last: w.plan.Losses > 0})
	}
}

// callers draws what callers ask for.
type callers struct {
	world *world
	rng   *rand.Rand
	draws *rand.Rand // for what is changed, and how
	begin time.Time
}

func (p *callers) one(of int) bool { return p.rng.IntN(of) == 0 }

// definition is the body that creates a schedule of the simulation. It ends with the time in which things go wrong.
func (p *callers) definition(policy schedule.OverlapPolicy, at time.Time) map[string]any {
	end := p.world.moment(p.world.plan.Duration).UTC().Truncate(time.Second)
	spec := map[string]any{"intervals": p.intervals(), "endTime": end.Format(time.RFC3339)}
	if p.one(3) {
		spec["jitter"] = "700ms"
	}
	if p.one(5) {
		from := p.world.moment(between(p.rng, 0, p.world.plan.Duration)).UTC().Truncate(time.Second)
		spec["blackouts"] = []any{map[string]any{
			"from": from.Format(time.RFC3339), "to": from.Add(time.Duration(1+p.rng.IntN(10)) * time.Second).Format(time.RFC3339),
		}}
	}
	if p.world.plan.Recess > 0 {
		had, _ := spec["blackouts"].([]any)
		spec["blackouts"] = append(had, p.world.blackoutOfRecess())
	}
	state := map[string]any{}
	if p.one(6) {
		state["limitedActions"], state["remainingActions"] = true, 1+p.rng.IntN(10)
	}
	body := map[string]any{"spec": spec, "action": p.action(), "policies": p.policies(policy), "state": state}
	if v := p.world.variation(p.draws.Uint64()); v.one(2) {
		v.vary(body, at)
	}
	return body
}

func (p *callers) intervals() []any {
	every := 1 + p.rng.IntN(10)
	if p.world.plan.Often {
		every = 1 + every%2
	}
	return []any{map[string]any{"every": fmt.Sprintf("%ds", every)}}
}

func (p *callers) action() map[string]any {
	action := map[string]any{"type": "t", "taskQueue": taskQueue}
	if p.one(3) {
		action["runTimeout"] = fmt.Sprintf("%ds", 2+p.rng.IntN(8))
	}
	if p.one(4) {
		action["retryPolicy"] = map[string]any{"initialInterval": "1s", "backoffCoefficient": 1, "maximumAttempts": 2 + p.rng.IntN(3)}
	}
	return action
}

func (p *callers) policies(policy schedule.OverlapPolicy) map[string]any {
	policies := map[string]any{"overlap": string(policy)}
	if p.one(4) {
		policies["concurrencyLimit"] = 2 + p.rng.IntN(2)
	}
	if p.one(6) {
		policies["pauseOnFailure"] = true
	}
	if p.one(4) {
		policies["catchupWindow"] = "10s"
	}
	if p.one(5) {
		policies["catchupMode"] = "latest"
	}
	if p.one(8) {
		policies["keepOriginalWorkflowId"] = true
	}
	return policies
}

// anyRequest draws a request.
func (p *callers) anyRequest(id string) request {
	switch p.rng.IntN(11) {
	case 0:
		return request{verb: "pause", id: id, body: map[string]any{"note": "maintenance"}}
	case 1, 2:
		return request{verb: "unpause", id: id, body: map[string]any{}}
	case 3, 4:
		return request{verb: "trigger", id: id, body: map[string]any{}}
	case 5:
		return request{verb: "backfill", id: id, body: p.backfill()}
	case 6:
		return request{verb: "skip", id: id, body: map[string]any{"count": 1 + p.rng.IntN(3)}}
	case 7:
		return request{verb: "update", id: id, draw: p.draws.Uint64()}
	case 8:
		return request{verb: "unskip", id: id, body: map[string]any{}}
	case 9:
		return request{verb: "cancelBackfill", id: id}
	}
	return request{verb: "patch", id: id, body: map[string]any{"unpause": map[string]any{}, "trigger": map[string]any{}}}
}

// ask makes a request at a time, and repeats it until its outcome is known. It returns the request ID.
func (w *world) ask(at time.Time, r request) string {
	w.asking++
	requestID := cmp.Or(r.name, fmt.Sprintf("request-%d", w.asking))
	w.unanswered++
	asked, number := &r, uint64(w.asking)
	w.at(at, func(now time.Time) {
		r := asked
		switch r.verb {
		case "create":
			w.nameCalendars(r.id, r.body["spec"].(map[string]any), number)
		case calendarCreate, calendarUpdate, calendarDelete:
			r.body = w.calendarBody(r, now)
		case "update":
			r.body = w.update(r, now)
		case "unpause":
			if d, ok := w.stored(r.id); r.last && !(ok && d.Schedule.State.Paused) {
				r.body = nil
			}
		case "volume":
			r.body = w.volumeOf(r)
		case "relieve":
			r.body = w.reliefOf(r)
		case "cancelBackfill":
			r.body = w.anyBackfill(r.id)
		case "cancelRun", "terminateRun":
			r.body = w.anyRun(r)
		}
		if r.body == nil {
			w.unanswered--
			w.stir()
			return
		}
		switch {
		case r.isAboutSchedule():
			r.body["id"] = keyOf(r.id).ID
		case r.verb != bulkStart:
			r.body["name"] = keyOf(r.id).ID
		}
		if r.verb != "cancelBackfill" {
			r.body["requestId"] = requestID
		}
		r.from = now
		w.open = append(w.open, r)
		w.try(r, now)
	})
	return requestID
}

// anyBackfill names a trigger or backfill in progress; nil if there is none.
func (w *world) anyBackfill(id string) map[string]any {
	found := w.backfills(keyOf(id))
	if len(found) == 0 {
		return nil
	}
	return map[string]any{"backfillId": idIn(found[0])}
}

// stored returns the definition in the bucket.
func (w *world) stored(id string) (d wire.Definition, ok bool) {
	key := keyOf(id)
	return record(w, key, kv.Definition(key))
}

// try asks a frontend.
func (w *world) try(r *request, now time.Time) {
	if w.recess.covers(now) && w.isAbsent(roleFrontend) {
		w.at(w.recess.to.Add(w.duration(0, 3*time.Second)), func(now time.Time) { w.try(r, now) })
		return
	}
	if r.isForgotten(now) {
		w.trace.note(now, "gives up", r.verb+" "+r.id)
		w.unanswered--
		w.stir()
		return
	}
	n := w.nodes[w.rng.IntN(each)]
	body := mustEncode(r.body)
	w.trace.note(now, "asks "+n.name, r.verb+" "+string(body))
	w.tries++
	r.tries++
	asker := fmt.Sprintf("%08d", w.tries)
	ctx := context.WithValue(context.Background(), askerKey{}, asker)
	go func() {
		answer, err := n.api.Answer(ctx, keyOf(r.id).Namespace, r.verb, "somebody", body)
		if n.Closed() {
			err = errDead // the answer reaches nobody
		}
		n.note("answer to "+asker, func() { w.answered(r, answer, err, time.Now()) })
	}()
}

func (w *world) answered(r *request, answer any, err error, now time.Time) {
	text := "done"
	if err != nil {
		text = err.Error()
	}
	w.trace.note(now, "answer", r.verb+" "+r.id+": "+text)
	w.stir()
	if err != nil && !refused(err) {
		w.at(now.Add(w.duration(time.Second, 3*time.Second)), func(now time.Time) { w.try(r, now) })
		return
	}
	r.to, r.answer, r.err = now, answer, err
	w.unanswered--
	w.replies = append(w.replies, r)
}

// refused reports whether the API has said no.
func refused(err error) bool {
	switch schedule.CodeOf(err) {
	case schedule.CodeInvalidArgument, schedule.CodeNotFound, schedule.CodeAlreadyExists, schedule.CodeFailedPrecondition,
		schedule.CodeResourceExhausted:
		return true
	}
	return false
}
