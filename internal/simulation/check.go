package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// record reads a record of the model.
func record[T any](w *world, of schedule.Key, key kv.Key[T]) (value T, ok bool) {
	bucket := w.names.StateBucket(subjects.ShardOf(of, shards))
	m, ok := w.server.Last(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, key.String()))
	if !ok || m.Header.Get("KV-Operation") != "" {
		return value, false
	}
	if err := codec.Unmarshal(m.Data, &value); err != nil {
		panic(err)
	}
	return value, true
}

// history is the events of a schedule, in order.
func (w *world) history(id string) []schedule.Event {
	var all []schedule.Event
	for _, m := range w.server.Messages(w.names.EventStream(), w.names.Events(keyOf(id))) {
		var e schedule.Event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			panic(err)
		}
		all = append(all, e)
	}
	return all
}

// once keeps only the first of events that were stored more than once. The stream recognizes a repeat by its ID as long as it
// remembers that ID; readers of the history drop later repeats.
func once(events []schedule.Event) []schedule.Event {
	seen := map[string]bool{}
	return slices.DeleteFunc(events, func(e schedule.Event) bool {
		again := seen[e.ID]
		seen[e.ID] = true
		return again
	})
}

// quiet reports whether nothing is under way any more.
func (w *world) quiet() bool { return w.busy() == "" }

// comingUp is how soon a timer must fire for the simulation to wait for it: it waits for a generator that looks again soon, and
// not for the timer of the idle time.
const comingUp = time.Minute

// busy says what is under way.
func (w *world) busy() string {
	if !w.calm || w.unanswered > 0 {
		return fmt.Sprintf("%d requests", w.unanswered)
	}
	if time.Since(w.trace.begin) < w.plan.Duration+w.plan.Recess+w.plan.Skew {
		return "a clock that is behind"
	}
	for _, n := range w.nodes {
		if n.suspended.After(time.Now()) {
			return n.name + ", which stands still"
		}
	}
	if runs := w.server.Messages(w.names.ActionStream(), w.names.Prefix()+".action.>"); len(runs) > 0 {
		return fmt.Sprintf("%d runs, the first: %s", len(runs), runs[0].Subject)
	}
	for shard := range shards {
		if reports := w.server.Messages(w.names.CallbackStream(shard), w.names.Callbacks(shard)); len(reports) > 0 && w.plan.Executions == 0 {
			return reports[0].Subject
		}
		for _, m := range w.server.Messages(w.names.TaskStream(shard), ">") {
			due := strings.HasPrefix(m.Subject, fmt.Sprintf("%s.timer.%d.due.", w.names.Prefix(), shard))
			if !due || w.timerAt(shard, m.Subject).Before(time.Now().Add(comingUp)) {
				return m.Subject
			}
		}
	}
	if w.plan.Executions > 0 {
		return cmp.Or(w.busyExecutions(), w.unchecked())
	}
	if job := w.unfinishedJob(); job != "" {
		return job
	}
	for i := range w.plan.Schedules {
		id := w.plan.scheduleID(i)
		key := keyOf(id)
		state, ok := record(w, key, kv.Invoker(key))
		if ok && slices.ContainsFunc(state.Starts, func(s wire.BufferedStart) bool {
			return s.Phase != schedule.PhaseCompleted
		}) {
			return "a start of " + id
		}
		switch d, ok := w.stored(id); {
		case ok && w.plan.IdleTime > 0 && !d.Schedule.State.Paused && !w.hasLost(id): // otherwise nobody knows what has not arrived
			return id + ", which is to be closed" // all schedules end with the time in which things go wrong
		case !ok && w.hasRecords(key): // perhaps a process forgets it whose message has been replaced
			return id + ", which is being forgotten"
		}
	}
	if unchecked := w.unchecked(); unchecked != "" {
		return unchecked
	}
	if until := w.checks.stirred.Add(scrubTime); w.plan.Losses > 0 && !w.plan.Checks && time.Now().Before(until) {
		w.at(until, func(time.Time) { w.unseen = true })
		return "what a scrubber may have still to find"
	}
	return ""
}

// unchecked says what a check has still to look at; empty if none has.
func (w *world) unchecked() string {
	if w.plan.Checks && !w.checks.clean.After(w.checks.stirred) {
		return "what a check has still to find nothing of, the last found: " + w.checks.last
	}
	return ""
}

// hasRecords reports whether a pool has a record of a schedule.
func (w *world) hasRecords(key schedule.Key) bool {
	_, generated := record(w, key, kv.Generator(key))
	_, invoked := record(w, key, kv.Invoker(key))
	return generated || invoked
}

// check checks the final state.
func (w *world) check() []Finding {
	if w.plan.Executions > 0 {
		w.executions.check()
		return slices.Clone(w.ledger.findings)
	}
	w.takeApart()
	findings := slices.Clone(w.ledger.findings)
	find := func(kind, id, format string, args ...any) {
		findings = append(findings, Finding{kind, id, fmt.Sprintf(format, args...)})
	}
	for requestID, r := range w.ledger.runs {
		if !r.over && !r.lost {
			find("endless", r.scheduleID, "run %s of %s has not ended", requestID, r.workflowID)
		}
	}
	for _, stream := range []string{w.names.DeadLetterStream(), w.names.WorkerDeadLetterStream()} {
		if letters := w.server.Messages(stream, ">"); len(letters) > 0 {
			find("dead letter", "", "%d of them, the first: %v", len(letters), letters[0].Header)
		}
	}
	for i := range w.plan.Schedules {
		findings = append(findings, w.checkSchedule(w.plan.scheduleID(i))...)
	}
	w.checkCalendars(find)
	w.checkBulks(find)
	for _, r := range w.replies {
		if r.verb == "create" && r.err != nil && schedule.CodeOf(r.err) != schedule.CodeAlreadyExists && !w.mayLack(r) {
			find("refused", r.id, "create: %v", r.err)
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Text, b.Text))
	})
	return findings
}

// checkSchedule compares the records and events of a schedule with its spec, with what callers have asked for, and with what
// the world has seen.
func (w *world) checkSchedule(id string) []Finding {
	d, ok := w.stored(id)
	c := &checker{world: w, id: id, key: keyOf(id), definition: &d}
	c.endings()
	c.deletes()
	c.begun()
	c.closed()
	if !ok {
		c.gone()
		return c.findings
	}
	c.events = slices.DeleteFunc(w.history(id), func(e schedule.Event) bool {
		return !e.IsOf(d.Incarnation) // of an earlier schedule of the same ID
	})
	c.again()
	if w.plan.Standstills > 0 || w.plan.Recess > 0 {
		c.events = once(c.events)
	}
	c.counters()
	c.leftovers()
	c.fates()
	c.due()
	c.runs()
	c.requests()
	c.pauses()
	c.skipped()
	c.frozen()
	c.limit()
	c.order()
	c.changes()
	c.passed()
	c.given()
	c.hindsight()
	c.heaped()
	c.timely()
	c.contents()
	c.audit()
	return c.findings
}

// checker checks the final state of one schedule.
type checker struct {
	*world
	id         string
	key        schedule.Key
	definition *wire.Definition
	events     []schedule.Event
	findings   []Finding
}

func (c *checker) find(kind, format string, args ...any) {
	c.findings = append(c.findings, Finding{kind, c.id, fmt.Sprintf(format, args...)})
}

// hasLostGuard reports whether the network has repeated the guard of a change: the repeat may have replaced the guard of a
// deletion.
func (c *checker) hasLostGuard() bool {
	guards := c.names.GuardTimers(subjects.ShardOf(c.key, shards), c.key)
	for timer, repeated := range c.promises.repeated {
		if repeated && jsmodel.Matches(guards, timer) {
			return true
		}
	}
	return false
}

// endings: for each schedule that is gone, the history has exactly one event that it was deleted or closed. There is an
// exception: it was deleted before any generator saw it, and another schedule of its ID was created and deleted at once. The
// guard of that second deletion, of the same version, has replaced the first, so the first may have no event.
func (c *checker) endings() {
	told := map[string]int{}
	var created []string
	for _, e := range once(c.history(c.id)) {
		switch e.Kind {
		case schedule.EventDeleted, schedule.EventClosed:
			told[e.ID]++
		case schedule.EventCreated:
			created = append(created, e.Created())
		}
	}
	for i, incarnation := range created {
		least, most := 1, 1
		if i < len(created)-1 || c.hasLostGuard() {
			least = 0
		}
		if incarnation == c.definition.Incarnation {
			least, most = 0, 0
		}
		if n := told[wire.DeletedEventID(incarnation)] + told[wire.ClosedEventID(incarnation)]; n < least || n > most {
			c.find("endings", "%d events tell of the end of %s, not %d", n, incarnation, most)
		}
	}
}

// counters: the counters are the sum of the events, each counted once.
func (c *checker) counters() {
	state, _ := record(c.world, c.key, kv.Invoker(c.key))
	if state.Incarnation != c.definition.Incarnation {
		state = wire.InvokerState{} // it is of an earlier schedule: the invoker has not heard of this one yet
	}
	var counters wire.Counters
	ids := map[string]bool{}
	for _, e := range c.events {
		if ids[e.ID] {
			c.find("events", "%s is there twice", e.ID)
		}
		ids[e.ID] = true
		counters.Add(e)
	}
	if counters != state.Counters {
		c.find("counters", "%+v, by the events %+v", state.Counters, counters)
	}
}

// leftovers: a schedule that is not paused has its timer, and when all is quiet no trigger or backfill is left.
func (c *checker) leftovers() {
	shard := subjects.ShardOf(c.key, shards)
	timers := len(c.server.Messages(c.names.TaskStream(shard), c.names.DueTimer(shard, c.key)))
	if !c.definition.Schedule.State.Paused && timers != 1 {
		c.find("timer", "it has none")
	}
	for _, subject := range c.backfills(c.key) {
		c.find("leftover", "%s", subject)
	}
}

// backfills returns the subjects of the records of the triggers and backfills of a schedule. They end in the ID.
func (w *world) backfills(key schedule.Key) (found []string) {
	bucket := w.names.StateBucket(subjects.ShardOf(key, shards))
	for _, m := range w.server.Messages(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, subjects.BackfillKeys(key))) {
		if m.Header.Get("KV-Operation") == "" {
			found = append(found, m.Subject)
		}
	}
	return found
}

// isAbout reports whether a subject names a schedule: callbacks have the task queue between namespace and ID.
func isAbout(subject string, key schedule.Key) bool {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		if token != key.ID {
			continue
		}
		if i > 0 && tokens[i-1] == key.Namespace || i > 1 && tokens[i-2] == key.Namespace {
			return true
		}
	}
	return false
}

// idIn returns the ID at the end of the subject of a trigger's or backfill's record.
func idIn(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// gone: nothing is left of a deleted schedule, except perhaps a timer that was armed late: by a message that arrived twice, or
// by a generator whose task another one has done. The timer goes when it is due, and finds nothing. That may be the end of the
// idle time, which is too long to wait for.
func (c *checker) gone() {
	if len(c.books.versions[c.id]) == 0 && slices.ContainsFunc(c.replies, func(r *request) bool { return r.id == c.id && r.verb == "create" && c.mayLack(r) }) {
		return
	}
	if c.plan.IdleTime == 0 && !slices.ContainsFunc(c.replies, func(r *request) bool { return r.id == c.id && r.verb == "delete" }) {
		c.find("gone", "nobody has deleted it")
		return
	}
	shard := subjects.ShardOf(c.key, shards)
	for _, m := range c.server.Messages(subjects.BucketStream(c.names.StateBucket(shard)), ">") {
		if m.Header.Get("KV-Operation") == "" && isAbout(m.Subject, c.key) {
			c.find("leftover", "was deleted and has left %s", m.Subject)
		}
	}
	timer := c.names.DueTimer(shard, c.key)
	for _, m := range c.server.Messages(c.names.TaskStream(shard), ">") {
		repeated := m.Subject == timer && (c.plan.Duplicate > 0 || c.plan.Redelivered > 0)
		if isAbout(m.Subject, c.key) && !repeated {
			c.find("leftover", "was deleted and has left %s", m.Subject)
		}
	}
	for _, m := range c.server.Messages(c.names.CallbackStream(shard), c.names.Callbacks(shard)) {
		if isAbout(m.Subject, c.key) {
			c.find("leftover", "was deleted and has left %s", m.Subject)
		}
	}
}
