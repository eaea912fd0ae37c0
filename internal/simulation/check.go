package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// record reads a record out of the model.
func record[T any](w *world, of schedule.Key, key kv.Key[T]) (value T, ok bool) {
	bucket := w.names.StateBucket(subjects.ShardOf(of, shards))
	m, ok := w.server.Last("KV_"+bucket, "$KV."+bucket+"."+key.String())
	if !ok || m.Header.Get("KV-Operation") != "" {
		return value, false
	}
	if err := schedule.Unmarshal(m.Data, &value); err != nil {
		panic(err)
	}
	return value, true
}

// history is the events of a schedule, in order.
func (w *world) history(id string) []schedule.Event {
	key := schedule.Key{Namespace: namespace, ID: id}
	var all []schedule.Event
	for _, m := range w.server.Messages(w.names.EventStream(), w.names.Events(key)) {
		var e schedule.Event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			panic(err)
		}
		all = append(all, e)
	}
	return all
}

// quiet reports whether nothing is under way any more.
func (w *world) quiet() bool { return w.busy() == "" }

// busy says what is under way.
func (w *world) busy() string {
	if !w.calm || w.unanswered > 0 {
		return fmt.Sprintf("%d requests", w.unanswered)
	}
	if runs := w.server.Messages(w.names.ActionStream(), ">"); len(runs) > 0 {
		return fmt.Sprintf("%d runs, the first: %s", len(runs), runs[0].Subject)
	}
	for shard := range shards {
		for _, m := range w.server.Messages(w.names.TaskStream(shard), ">") {
			if !strings.HasPrefix(m.Subject, fmt.Sprintf("%s.timer.%d.due.", w.names.Prefix(), shard)) {
				return m.Subject
			}
		}
	}
	for i := range w.plan.Schedules {
		key := schedule.Key{Namespace: namespace, ID: fmt.Sprintf("s%d", i)}
		state, ok := record(w, key, kv.Invoker(key))
		if ok && slices.ContainsFunc(state.Starts, func(s schedule.BufferedStart) bool {
			return s.Phase != schedule.PhaseCompleted
		}) {
			return fmt.Sprintf("a start of s%d", i)
		}
	}
	return ""
}

// check looks at what there is in the end.
func (w *world) check() []string {
	findings := slices.Clone(w.ledger.findings)
	find := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	for requestID, r := range w.ledger.runs {
		if !r.over {
			find("run %s of %s has not ended", requestID, r.workflowID)
		}
	}
	if letters := w.server.Messages(w.names.DeadLetterStream(), ">"); len(letters) > 0 {
		find("%d dead letters, the first: %v", len(letters), letters[0].Header)
	}
	for i := range w.plan.Schedules {
		findings = append(findings, w.checkSchedule(fmt.Sprintf("s%d", i))...)
	}
	for _, r := range w.replies {
		if r.verb == "create" && r.err != nil && schedule.CodeOf(r.err) != schedule.CodeAlreadyExists {
			find("create of %s: %v", r.id, r.err)
		}
	}
	slices.Sort(findings)
	return findings
}

// checkSchedule compares the events of a schedule with its counters, its spec and the requests of people.
func (w *world) checkSchedule(id string) (findings []string) {
	find := func(format string, args ...any) { findings = append(findings, id+": "+fmt.Sprintf(format, args...)) }
	key := schedule.Key{Namespace: namespace, ID: id}
	shard := subjects.ShardOf(key, shards)
	d, ok := w.stored(id)
	if !ok {
		return w.checkGone(key)
	}
	state, _ := record(w, key, kv.Invoker(key))
	events := slices.DeleteFunc(w.history(id), func(e schedule.Event) bool {
		return !strings.HasPrefix(e.ID, d.Incarnation+"-") // of an earlier schedule of the same ID
	})
	var counters schedule.Counters
	ids := map[string]bool{}
	for _, e := range events {
		if ids[e.ID] {
			find("event %s is there twice", e.ID)
		}
		ids[e.ID] = true
		counters.Add(e)
	}
	if counters != state.Counters {
		find("counters %+v, by the events %+v", state.Counters, counters)
	}
	if !d.Schedule.State.Paused && len(w.server.Messages(w.names.TaskStream(shard), w.names.DueTimer(shard, key))) != 1 {
		find("has no timer")
	}
	findings = append(findings, w.checkFates(id, &d, events)...)
	return append(findings, w.checkRequests(id, d.CreateTime, events)...)
}

// checkGone makes sure that nothing is left of a schedule that was deleted.
func (w *world) checkGone(key schedule.Key) (findings []string) {
	if !slices.ContainsFunc(w.replies, func(r reply) bool { return r.id == key.ID && r.verb == "delete" }) {
		return []string{key.ID + ": is gone, and nobody has deleted it"}
	}
	shard := subjects.ShardOf(key, shards)
	bucket := w.names.StateBucket(shard)
	for _, m := range w.server.Messages("KV_"+bucket, ">") {
		if m.Header.Get("KV-Operation") == "" && strings.Contains(m.Subject, "."+key.ID+".") {
			findings = append(findings, key.ID+": was deleted and has left "+m.Subject)
		}
	}
	for _, m := range w.server.Messages(w.names.TaskStream(shard), ">") {
		if strings.HasSuffix(m.Subject, "."+key.ID) || strings.Contains(m.Subject, "."+key.ID+".") {
			findings = append(findings, key.ID+": was deleted and has left "+m.Subject)
		}
	}
	return findings
}

// fates are the kinds of event that say what became of an action.
var fates = []schedule.EventKind{schedule.EventStarted, schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped}

// checkFates makes sure that each action has one fate, and that each due time of a schedule that nobody has changed has
// one.
func (w *world) checkFates(id string, d *schedule.Definition, events []schedule.Event) (findings []string) {
	find := func(format string, args ...any) { findings = append(findings, id+": "+fmt.Sprintf(format, args...)) }
	had := map[string]int{}
	spans := 0
	for _, e := range events {
		if !slices.Contains(fates, e.Kind) {
			continue
		}
		if e.Count > 1 || e.Nominal.IsZero() {
			spans++
			continue
		}
		fate := e.Source + " " + e.Nominal.UTC().Format(time.RFC3339Nano)
		if had[fate]++; had[fate] > 1 {
			find("%s has %d fates, the last: %s", fate, had[fate], e.Kind)
		}
	}
	paused := slices.ContainsFunc(events, func(e schedule.Event) bool { return e.Kind == schedule.EventPaused })
	if w.changed(id) || paused || spans > 0 || d.Schedule.State.LimitedActions || d.Schedule.State.Paused {
		return findings
	}
	every := time.Duration(d.Schedule.Spec.Intervals[0].Every)
	from := d.CreateTime.Add(2 * w.plan.Skew).UnixNano() // the clock of another process may have been ahead
	at := time.Unix(0, from-from%int64(every)).Add(every)
	for ; !at.After(d.Schedule.Spec.EndTime); at = at.Add(every) {
		if fate := schedule.SourceAuto + " " + at.UTC().Format(time.RFC3339Nano); had[fate] == 0 {
			find("missed: nothing became of %s", fate)
		}
	}
	return findings
}

// changed reports whether anybody has changed what a schedule is due by.
func (w *world) changed(id string) bool {
	return slices.ContainsFunc(w.replies, func(r reply) bool {
		return r.id == id && r.err == nil && (r.verb == "pause" || r.verb == "update")
	})
}

// checkRequests makes sure that what people have asked for, and were told is done, has been done.
func (w *world) checkRequests(id string, since time.Time, events []schedule.Event) (findings []string) {
	find := func(format string, args ...any) { findings = append(findings, id+": "+fmt.Sprintf(format, args...)) }
	for _, r := range w.replies {
		if r.id != id || r.err != nil || r.at.Before(since) {
			continue
		}
		if slices.ContainsFunc(w.replies, func(other reply) bool { return other.verb == "delete" && other.id == id }) {
			continue // what one schedule was asked for, another of the same ID does not do
		}
		canceled := slices.ContainsFunc(w.replies, func(c reply) bool { return c.verb == "cancelBackfill" && c.id == id })
		if requestID, _ := r.body["requestId"].(string); !slices.ContainsFunc(events, func(e schedule.Event) bool {
			return e.RequestID == requestID
		}) && requestID != "" && r.verb != "unskip" && r.verb != "delete" {
			find("no event tells of %s %s", r.verb, requestID)
		}
		if canceled {
			continue
		}
		switch answer := r.answer.(type) {
		case *schedule.TriggerReply:
			count := 0
			for _, e := range events {
				if e.Source == answer.TriggerID && slices.Contains(fates, e.Kind) {
					count++
				}
			}
			if count != 1 {
				find("trigger %s has %d fates", answer.TriggerID, count)
			}
		case *schedule.BackfillReply:
			if !slices.ContainsFunc(events, func(e schedule.Event) bool {
				return e.Source == answer.BackfillID && e.Kind == schedule.EventBackfillCompleted
			}) {
				find("backfill %s has not completed", answer.BackfillID)
			}
		}
	}
	return findings
}
