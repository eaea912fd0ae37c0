package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// person makes requests to the API, as a client does: what was perhaps not carried out is asked again under the same
// request ID.
type request struct {
	verb, id string
	body     map[string]any
}

// reply is what came of a request.
type reply struct {
	request
	answer any
	err    error
	at     time.Time
}

// overlapPolicies are those of the schedules, in turn.
var overlapPolicies = []schedule.OverlapPolicy{
	schedule.OverlapAllowAll, schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll,
	schedule.OverlapCancelOther, schedule.OverlapTerminateOther,
}

// settle plans what people ask for.
func (w *world) people(begin time.Time) {
	for i := range w.plan.Schedules {
		id := fmt.Sprintf("s%d", i)
		policy := overlapPolicies[w.rng.IntN(len(overlapPolicies))]
		w.overlaps[id] = policy != schedule.OverlapAllowAll
		w.ask(begin.Add(w.duration(20*time.Millisecond, 5*time.Second)), request{"create", id, w.definition(begin, policy)})
	}
	for range w.plan.Requests {
		id := fmt.Sprintf("s%d", w.rng.IntN(w.plan.Schedules))
		at := begin.Add(w.duration(5*time.Second, w.plan.Duration))
		if w.rng.IntN(12) > 0 {
			w.ask(at, w.anyRequest(id, begin))
			continue
		}
		w.ask(at, request{"delete", id, map[string]any{}})
		if w.rng.IntN(3) > 0 { // the same policy as before, since runs of the old one go on
			w.ask(at.Add(w.duration(0, 3*time.Second)), request{"create", id, w.definition(begin, schedule.OverlapAllowAll)})
		}
		w.overlaps[id] = false
	}
	// In the end everything is to come to rest.
	for i := range w.plan.Schedules {
		id := fmt.Sprintf("s%d", i)
		w.ask(begin.Add(w.plan.Duration+time.Second), request{"unpause", id, map[string]any{}})
	}
}

// definition is what a schedule of the simulation looks like. It ends with the time in which things go wrong.
func (w *world) definition(begin time.Time, policy schedule.OverlapPolicy) map[string]any {
	spec := map[string]any{
		"intervals": []any{map[string]any{"every": fmt.Sprintf("%ds", 1+w.rng.IntN(10))}},
		"endTime":   begin.Add(w.plan.Duration).UTC().Truncate(time.Second).Format(time.RFC3339),
	}
	if w.rng.IntN(3) == 0 {
		spec["jitter"] = "700ms"
	}
	action := map[string]any{"type": "t", "taskQueue": taskQueue}
	if w.rng.IntN(3) == 0 {
		action["runTimeout"] = fmt.Sprintf("%ds", 2+w.rng.IntN(8))
	}
	policies := map[string]any{"overlap": string(policy)}
	if w.rng.IntN(6) == 0 {
		policies["pauseOnFailure"] = true
	}
	state := map[string]any{}
	if w.rng.IntN(6) == 0 {
		state["limitedActions"], state["remainingActions"] = true, 1+w.rng.IntN(10)
	}
	return map[string]any{"spec": spec, "action": action, "policies": policies, "state": state}
}

// anyRequest draws something that people do.
func (w *world) anyRequest(id string, begin time.Time) request {
	switch w.rng.IntN(11) {
	case 0:
		return request{"pause", id, map[string]any{"note": "maintenance"}}
	case 1, 2:
		return request{"unpause", id, map[string]any{}}
	case 3, 4:
		return request{"trigger", id, map[string]any{}}
	case 5:
		from := begin.Add(-w.duration(time.Second, 2*time.Minute)).UTC().Truncate(time.Second)
		return request{"backfill", id, map[string]any{
			"start": from.Format(time.RFC3339), "end": from.Add(w.duration(0, time.Minute)).Truncate(time.Second).Format(time.RFC3339),
		}}
	case 6:
		return request{"skip", id, map[string]any{"count": 1 + w.rng.IntN(3)}}
	case 7:
		return request{"update", id, nil}
	case 8:
		return request{"unskip", id, map[string]any{}}
	case 9:
		return request{"cancelBackfill", id, nil}
	}
	return request{"patch", id, map[string]any{"unpause": map[string]any{}, "trigger": map[string]any{}}}
}

// ask makes a request at a time, and again until it is known what has come of it.
func (w *world) ask(at time.Time, r request) {
	w.asking++
	requestID := fmt.Sprintf("request-%d", w.asking)
	w.unanswered++
	w.at(at, func(now time.Time) {
		switch r.verb {
		case "update":
			r.body = w.update(r.id)
		case "cancelBackfill":
			r.body = w.anyBackfill(r.id)
		}
		if r.body == nil {
			w.unanswered--
			w.stir()
			return
		}
		r.body["id"] = r.id
		if r.verb != "cancelBackfill" {
			r.body["requestId"] = requestID
		}
		w.try(r, now)
	})
}

// update is the definition there is, with another interval.
func (w *world) update(id string) map[string]any {
	d, ok := w.stored(id)
	if !ok {
		return nil
	}
	data, err := schedule.EncodeJSON(d.Schedule)
	var body map[string]any
	if err != nil || json.Unmarshal(data, &body) != nil {
		panic("simulation: a definition that cannot be encoded")
	}
	body["spec"].(map[string]any)["intervals"] = []any{map[string]any{"every": fmt.Sprintf("%ds", 1+w.rng.IntN(10))}}
	return body
}

// anyBackfill names a trigger or backfill in progress; nil if there is none.
func (w *world) anyBackfill(id string) map[string]any {
	key := schedule.Key{Namespace: namespace, ID: id}
	bucket := w.names.StateBucket(subjects.ShardOf(key, shards))
	for _, m := range w.server.Messages("KV_"+bucket, "$KV."+bucket+"."+subjects.BackfillKeys(key)) {
		if m.Header.Get("KV-Operation") == "" {
			return map[string]any{"backfillId": m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]}
		}
	}
	return nil
}

// stored is the definition that the bucket has.
func (w *world) stored(id string) (d schedule.Definition, ok bool) {
	key := schedule.Key{Namespace: namespace, ID: id}
	return record(w, key, kv.Definition(key))
}

// try asks a frontend.
func (w *world) try(r request, now time.Time) {
	n := w.nodes[w.rng.IntN(each)]
	body, err := json.Marshal(r.body)
	if err != nil {
		panic(err)
	}
	w.trace.note(now, "asks "+n.name, r.verb+" "+string(body))
	w.tries++
	ctx := context.WithValue(context.Background(), askerKey{}, fmt.Sprintf("%08d", w.tries))
	go func() {
		answer, err := n.api.Answer(ctx, namespace, r.verb, "somebody", body)
		if n.Closed() {
			err = errDead // the answer reaches nobody
		}
		n.note("answer to "+r.verb, func() { w.answered(reply{r, answer, err, time.Now()}) })
	}()
}

func (w *world) answered(r reply) {
	text := "done"
	if r.err != nil {
		text = r.err.Error()
	}
	w.trace.note(r.at, "answer", r.verb+" "+r.id+": "+text)
	w.stir()
	if r.err != nil && !refused(r.err) {
		w.at(r.at.Add(w.duration(time.Second, 3*time.Second)), func(now time.Time) { w.try(r.request, now) })
		return
	}
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
