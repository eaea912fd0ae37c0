package simulation

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// In some plans there is more to do at once than is done in one go, so that the limits of docs/semantics.md §6 are met. Either
// several callers ask for backfills of hundreds of times at the same moment. Or no generator runs while s0 is due every second,
// until more is due than one hand-off can contain. The world counts how often a limit was met, so that a test can check it.

// The limits, as the specification has them.
const (
	handOffLimit  = 1000
	bufferLimit   = 1000
	roundLimit    = 128
	backfillLimit = 450
	batchLimit    = 100
)

// Where a limit was met.
const (
	metHandOff = "a hand-off was cut at its limit"
	metBuffer  = "the buffer was full"
	metRound   = "a round stopped at its limit"
	metBatch   = "a backfill was cut to the room there was"
	metNoRoom  = "a backfill found no room"
	metCounted = "what was given up of a backlog was counted"
)

// heapedID is the schedule that has very much to do.
const heapedID = "s0"

// volume is what there is very much of.
type volume string

const (
	// volumeBackfills: several large backfills are asked for at once.
	volumeBackfills volume = "backfills"
	// volumeBacklog: in the recess no generator runs, and s0 is due all the same.
	volumeBacklog volume = "backlog"
)

// lasts is how much longer a run takes where there is very much. So the end of a run does not make anybody look at the rest of
// a round.
func (v volume) lasts() time.Duration {
	if v == "" {
		return 0
	}
	return 2 * time.Second
}

// leastBacklog is how long a schedule must be due every second until more is due than a hand-off can contain. moreBacklog is by
// how much it may be longer.
const (
	leastBacklog = (handOffLimit + 20) * time.Second
	moreBacklog  = 2 * time.Minute
)

// swell draws a volume for some plans.
func (p *Plan) swell(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, streamVolume))
	switch rng.IntN(400) {
	case 0:
		p.have(volumeBackfills, rng)
	case 1:
		p.have(volumeBacklog, rng)
	}
}

// have gives a plan a volume. Nothing else may hold back what is to come all at once.
func (p *Plan) have(v volume, rng *rand.Rand) {
	p.Volume = v
	p.ActionsPerSecond, p.MaxPendingRuns, p.LimitChanges, p.Calendars = 0, 0, 0, 0
	p.Requests /= 4 // of many requests, one would change everything before the limits are met
	p.Recess, p.Absent = 0, ""
	if v == volumeBacklog {
		p.Recess, p.Absent = (leastBacklog + between(rng, 0, moreBacklog)).Truncate(time.Second), absentGenerators
		p.Together = false // otherwise no other role would be there either
	}
}

// volume plans the large requests of callers.
func (p *callers) volume() {
	m := &callers{world: p.world, rng: rand.New(rand.NewPCG(p.world.seed, streamVolume)), begin: p.begin}
	switch p.world.plan.Volume {
	case volumeBackfills:
		m.backfillTogether()
	case volumeBacklog:
		m.relieve()
	}
}

// backfillTogether plans several large backfills, within a short time of each other.
func (p *callers) backfillTogether() {
	at, within := p.begin.Add(between(p.rng, 5*time.Second, 8*time.Second)), time.Second
	if p.one(2) {
		within = 20 * time.Millisecond // so that the invoker has them all at once
	}
	for range 2 + p.rng.IntN(8) {
		p.backfillMany(at.Add(between(p.rng, 0, within)), 60+p.rng.IntN(300))
	}
}

// backfillMany plans a backfill of the given number of times, all of them before the simulation begins.
func (p *callers) backfillMany(at time.Time, times int) {
	end := p.begin.Add(-time.Minute).UTC().Truncate(time.Second)
	body := map[string]any{"end": end.Format(time.RFC3339), "overlap": string(schedule.OverlapAllowAll)}
	if p.one(3) {
		body["overlap"] = string(schedule.OverlapBufferAll)
	}
	p.world.ask(at, request{verb: "volume", id: heapedID, body: body, times: times})
}

// volumeOf is a backfill of as many times as are wanted, by the present intervals of the schedule; nil if the schedule is gone.
func (w *world) volumeOf(r *request) map[string]any {
	d, ok := w.stored(r.id)
	if !ok {
		return nil
	}
	end, err := time.Parse(time.RFC3339, r.body["end"].(string))
	if err != nil {
		panic(err)
	}
	r.verb = "backfill"
	r.body["start"] = end.Add(-time.Duration(r.times) * d.Schedule.Spec.Intervals[0].Every.Std()).Format(time.RFC3339)
	return r.body
}

// heap makes s0 due every second, throughout the recess as well. For a backlog, one run begins after the other as a rule. So
// nearly everything that was missed must wait, and later actions find the buffer full.
func (p *callers) heap(body map[string]any) {
	m := &callers{rng: rand.New(rand.NewPCG(p.world.seed, streamBacklog))}
	spec := map[string]any{
		"intervals": []any{map[string]any{"every": "1s"}},
		"endTime":   p.world.moment(p.world.plan.Duration).UTC().Truncate(time.Second).Format(time.RFC3339),
	}
	if m.one(4) {
		spec["jitter"] = "700ms"
	}
	body["spec"], body["state"] = spec, map[string]any{}
	if p.world.plan.Volume == volumeBackfills {
		part(body, "policies")["concurrencyLimit"] = 20 + m.rng.IntN(60) // one by one, they would take hours
		if m.one(2) {                                                    // due actions would make the invoker look at the rest
			spec["blackouts"] = []any{map[string]any{
				"from": p.begin.UTC().Truncate(time.Second).Format(time.RFC3339), "to": spec["endTime"],
			}}
		}
		return
	}
	policy := schedule.OverlapBufferAll
	if m.one(3) {
		policy = overlapPolicies[m.rng.IntN(len(overlapPolicies))]
	}
	body["policies"] = map[string]any{"overlap": string(policy)}
	body["action"] = map[string]any{"type": "t", "taskQueue": taskQueue}
}

// relieve plans a backfill for which there is no room behind everything that waits after the recess. Later either all of it may
// begin at once, or the schedule is deleted and nothing may begin.
func (p *callers) relieve() {
	p.backfillMany(p.world.recess.to.Add(between(p.rng, 3*time.Second, 12*time.Second)), 60+p.rng.IntN(100))
	at := p.world.recess.to.Add(between(p.rng, 12*time.Second, 25*time.Second))
	if p.one(4) {
		p.world.ask(at, request{verb: "delete", id: heapedID, body: map[string]any{}})
		return
	}
	p.world.ask(at, request{verb: "relieve", id: heapedID})
}

// reliefOf is the present definition with a policy under which nothing waits; nil if the schedule is gone.
func (w *world) reliefOf(r *request) map[string]any {
	d, ok := w.stored(r.id)
	if !ok {
		return nil
	}
	body := bodyOf(&d.Schedule)
	part(body, "policies")["overlap"] = string(schedule.OverlapAllowAll)
	r.verb, r.asked = "update", scheduleIn(body)
	return body
}

// rooms remembers how much room each record of an invoker left for the backfills of its schedule.
type rooms map[roomOf][]room

// roomOf names a backfill.
type roomOf struct{ schedule, incarnation, source string }

// room is how many starts a backfill might hand over by a record that had accepted all of the backfill up to a time.
type room struct {
	upTo   time.Time
	starts int
}

// note notes the room that a record gives.
func (r rooms) note(id string, state *wire.InvokerState) {
	taken, sharing := 0, 0
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Waiting() || s.Manual && s.Running() {
			taken++
		}
	}
	for source, progress := range state.Sources {
		if source != schedule.SourceAuto && !progress.Complete && !progress.Withdrawn {
			sharing++
		}
	}
	for source, progress := range state.Sources {
		if source == schedule.SourceAuto || len(progress.Covered) == 0 {
			continue
		}
		others := sharing
		if !progress.Complete && !progress.Withdrawn {
			others--
		}
		of := roomOf{id, state.Incarnation, source}
		starts := min(max(backfillLimit-taken, 0)/(others+1), batchLimit)
		r[of] = append(r[of], room{progress.Covered[0].To, starts})
	}
}

// most is the most room that a backfiller may have seen which had handed over everything up to a time. It may have read any
// record that has accepted that.
func (r rooms) most(of roomOf, from time.Time) int {
	most := 0
	for _, seen := range r[of] {
		if !seen.upTo.Before(from) {
			most = max(most, seen.starts)
		}
	}
	return most
}

// promisedByHandOff: a hand-off contains no more than its limit and gives up only what is beyond that, and a backfill hands
// over no more than there is room for.
func (w *world) promisedByHandOff(id string, e *wire.Enqueue) {
	if e.Source != schedule.SourceAuto {
		w.promisedByBatch(id, e)
		return
	}
	tooMany := e.Dropped > 0 && e.DropReason == ""
	if tooMany {
		w.met[metHandOff]++
	}
	if len(e.Starts) > handOffLimit || tooMany && len(e.Starts) < handOffLimit {
		w.broken(id, "a hand-off has %d starts, and gives up %d as too many", len(e.Starts), e.Dropped)
	}
}

func (w *world) promisedByBatch(id string, e *wire.Enqueue) {
	state, ok := record(w, keyOf(id), kv.Backfill(keyOf(id), e.Source))
	if !ok || state.Trigger != nil || len(e.Starts) == 0 {
		return
	}
	if !e.Complete {
		w.met[metBatch]++
	}
	if most := w.promises.rooms.most(roomOf{id, e.Incarnation, e.Source}, e.From); len(e.Starts) > most {
		w.broken(id, "backfill %s hands over %d starts, and there was room for %d", e.Source, len(e.Starts), most)
	}
}

// promisedByBuffer: no automated start enters a full buffer, and none is dropped for lack of room while there is some.
func (w *world) promisedByBuffer(id string, old, now *wire.InvokerState) {
	if old.Incarnation != now.Incarnation {
		old = &wire.InvokerState{}
	}
	w.promises.rooms.note(id, now)
	before, waiting := map[string]*wire.BufferedStart{}, map[string]bool{}
	for i := range old.Starts {
		s := &old.Starts[i]
		if before[s.RequestID] = s; s.Waiting() {
			waiting[s.RequestID] = true
		}
	}
	automated, manual, rest, begun := 0, 0, 0, len(waiting)
	for i := range now.Starts {
		s := &now.Starts[i]
		was := before[s.RequestID]
		switch {
		case was != nil:
			if s.Phase == schedule.PhaseReady && was.Phase == schedule.PhaseReady && !s.BackoffUntil.After(was.BackoffUntil) {
				rest++
			}
		case s.Manual:
			manual++
		default:
			automated++
		}
		if s.Waiting() {
			begun--
		}
		waiting[s.RequestID] = waiting[s.RequestID] || was == nil
	}
	if begun >= roundLimit && rest > 0 {
		w.met[metRound]++
	}
	if n := wire.CountWaiting(now.Starts) - manual; automated > 0 && n > bufferLimit {
		w.broken(id, "an automated start was taken into the buffer, in which %d wait", n)
	}
	w.promisedByDrops(id, old, now, waiting)
}

// promisedByDrops: where a start was dropped because the buffer was full, the buffer was full. waiting contains every start
// that waited before, or has entered.
func (w *world) promisedByDrops(id string, old, now *wire.InvokerState, waiting map[string]bool) {
	drops := 0
	for i := range now.Outbox {
		e := &now.Outbox[i]
		switch known := slices.ContainsFunc(old.Outbox, func(other schedule.Event) bool { return other.ID == e.ID }); {
		case known:
		case isDropForRoom(e):
			drops++
		case e.RequestID != "":
			waiting[e.RequestID] = true // it entered, and was given up again
		}
	}
	if drops == 0 {
		return
	}
	maps.DeleteFunc(waiting, func(_ string, waited bool) bool { return !waited })
	if len(waiting) < bufferLimit {
		w.broken(id, "%d starts were dropped for a full buffer, in which %d waited at most", drops, len(waiting))
	}
}

// isDropForRoom reports whether an event tells of a start that found the buffer full.
func isDropForRoom(e *schedule.Event) bool {
	return e.Kind == schedule.EventDropped && e.Reason == "1000 starts are waiting already"
}

// noteEvent counts the events about a full buffer.
func (w *world) noteEvent(msg *nats.Msg) {
	var e schedule.Event
	if json.Unmarshal(msg.Data, &e) == nil && isDropForRoom(&e) {
		w.met[metBuffer]++
	}
}

// heaped: the part of a backlog that was given up because it exceeds a hand-off has one event with its exact span and count.
// None of it has another fate, even where the policies of the schedule were changed later.
func (c *checker) heaped() {
	if c.plan.Volume != volumeBacklog || c.id != heapedID || c.isReplaced(c.id) {
		return
	}
	spec := func(v version) string {
		data, err := apitext.EncodeJSON(v.definition.Schedule.Spec)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	versions := c.books.versions[c.id]
	if slices.ContainsFunc(versions, func(v version) bool { return spec(v) != spec(versions[0]) }) {
		return
	}
	had := map[string]bool{}
	var spans []*schedule.Event
	for i := range c.events {
		switch e := &c.events[i]; {
		case e.Source != schedule.SourceAuto || !slices.Contains(fates, e.Kind):
		case isSpan(e):
			spans = append(spans, e)
		default:
			had[fateKey(e.Source, e.Nominal)] = true
		}
	}
	if len(spans) > 0 {
		c.met[metCounted]++
	}
	d := c.definition
	c.spans(spans, timesOf(d, d.CreateTime.Add(-2*c.plan.Skew-time.Second), d.Schedule.Spec.EndTime), had)
}
