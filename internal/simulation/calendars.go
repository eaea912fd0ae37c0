package simulation

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// In some plans there are named calendars, which schedules leave out, and which callers create, change and delete. These
// requests draw from their own stream of numbers.

// calendarsEach are the names that calendars may have in a namespace.
var calendarsEach = []string{"c0", "c1"}

// calendarNames are the names of all possible calendars.
func (p *Plan) calendarNames() []string {
	names := slices.Clone(calendarsEach)
	if p.Twin {
		for _, name := range calendarsEach {
			names = append(names, nameOf(schedule.Key{Namespace: otherSpace, ID: name}))
		}
	}
	return names
}

// The verbs about calendars.
const (
	aboutCalendars = "calendar-"
	calendarCreate = aboutCalendars + "create"
	calendarUpdate = aboutCalendars + "update"
	calendarDelete = aboutCalendars + "delete"
)

// calendars draws for some plans how many requests about calendars callers make.
func (p *SystemPlan) calendars(rng *rand.Rand) {
	if rng.IntN(6) == 0 {
		p.Calendars = 2 + rng.IntN(10)
	}
}

// calendars plans the requests about calendars. As a rule calendars exist before the schedules do.
func (p *callers) calendars() {
	w := p.world
	if w.plan.Calendars == 0 {
		return
	}
	m := &callers{world: w, rng: rand.New(rand.NewPCG(w.seed, streamCalendars)), begin: p.begin}
	names := w.plan.calendarNames()
	for _, name := range names {
		w.ask(p.begin.Add(between(m.rng, 10*time.Millisecond, 20*time.Millisecond)), request{verb: calendarCreate, id: name, draw: m.rng.Uint64()})
	}
	for range w.plan.Calendars {
		name := names[m.rng.IntN(len(names))]
		at := w.moment(between(m.rng, 3*time.Second, w.plan.Duration))
		if !m.one(4) {
			w.ask(at, request{verb: calendarUpdate, id: name, draw: m.rng.Uint64()})
			if m.one(2) { // at the same moment a schedule begins to use it, or stops
				at = at.Add(between(m.rng, -30*time.Millisecond, 10*time.Millisecond))
				w.ask(at, request{verb: "update", id: w.plan.scheduleID(m.rng.IntN(w.plan.Schedules)), draw: m.rng.Uint64()})
			}
			continue
		}
		requestID := w.ask(at, request{verb: calendarDelete, id: name, draw: m.rng.Uint64()})
		if m.one(3) { // once more, which must not delete another one
			w.ask(at.Add(between(m.rng, 0, 10*time.Second)), request{verb: calendarDelete, id: name, draw: m.rng.Uint64(), name: requestID})
		}
		if !m.one(3) {
			w.ask(at.Add(between(m.rng, 0, 5*time.Second)), request{verb: calendarCreate, id: name, draw: m.rng.Uint64()})
		}
	}
}

// calendarBody is the content of a request about a calendar: windows around now, seldom a whole day; and the conflict token of
// the calendar, another one, or none.
func (w *world) calendarBody(r *request, now time.Time) map[string]any {
	m := &callers{world: w, rng: rand.New(rand.NewPCG(r.draw, streamCalendars))}
	body := map[string]any{}
	if r.verb != calendarDelete {
		var windows, dates []any
		for range m.rng.IntN(4) {
			from := now.Add(between(m.rng, -5*time.Second, 20*time.Second)).UTC().Truncate(time.Second)
			windows = append(windows, map[string]any{
				"from": from.Format(time.RFC3339), "to": from.Add(time.Duration(1+m.rng.IntN(12)) * time.Second).Format(time.RFC3339),
			})
		}
		if m.one(8) {
			today := now.UTC().Format(time.DateOnly)
			dates = append(dates, []string{today, "2000-12-24/2000-12-26", "1999-12-31/" + today}[m.rng.IntN(2)])
		}
		body["windows"], body["dates"] = windows, dates
	}
	if stored, ok := w.calendar(r.id); ok && r.verb != calendarCreate && m.one(3) {
		if r.token = stored.Version; m.one(3) && stored.Version > 1 {
			r.token = 1 + m.rng.Uint64N(stored.Version-1)
		}
		body["conflictToken"] = r.token
	}
	return body
}

// nameCalendars makes the spec in a request for a schedule name some of the existing calendars, or leaves it as it is.
func (w *world) nameCalendars(id string, spec map[string]any, draw uint64) {
	if w.plan.Calendars == 0 {
		return
	}
	m := &callers{rng: rand.New(rand.NewPCG(w.seed^draw, streamCalendars))}
	if m.one(3) {
		return
	}
	var names []any
	for _, name := range calendarsEach {
		if _, ok := w.calendar(sibling(id, name)); ok && m.one(2) {
			names = append(names, name)
		}
	}
	if delete(spec, "excludeCalendarsNamed"); len(names) > 0 {
		spec["excludeCalendarsNamed"] = names
	}
}

// calendarRecord is the part of a calendar's record that the simulation looks at.
type calendarRecord struct {
	Dates       []schedule.DateRange  `json:"dates"`
	Windows     []schedule.Blackout   `json:"windows"`
	Incarnation string                `json:"incarnation"`
	Version     uint64                `json:"version"`
	Edition     string                `json:"edition"`
	RequestID   string                `json:"requestId"`
	Applied     []wire.AppliedRequest `json:"applied"`
	Deleting    time.Time             `json:"deleting"`
}

// calendarVersion is a record as it was written. A zero record means that the calendar was deleted.
type calendarVersion struct {
	at     time.Time
	record calendarRecord
}

// gone reports whether the calendar was deleted.
func (v *calendarVersion) gone() bool { return v.record.Incarnation == "" }

// by reports whether a request has made this version or an earlier one.
func (v *calendarVersion) by(requestID string) bool {
	return v.record.RequestID == requestID || slices.ContainsFunc(v.record.Applied, func(a wire.AppliedRequest) bool {
		return a.RequestID == requestID
	})
}

// calendar returns the stored record of a calendar.
func (w *world) calendar(name string) (record calendarRecord, ok bool) {
	bucket := w.names.ClusterBucket()
	m, ok := w.server.Last(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, subjects.CalendarKey(keyOf(name).Namespace, keyOf(name).ID)))
	if !ok || isTombstone(&m) {
		return record, false
	}
	mustDecode(m.Data, &record)
	return record, true
}

func mustEncode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

func mustDecode(data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		panic(err)
	}
}

// wroteCluster notes a record of the cluster that has been written, or deleted: then there is no data.
func (w *world) wroteCluster(key string, data []byte, now time.Time) {
	w.changed(w.names.ClusterBucket(), now)
	space, id, err := subjects.ParseCalendarKey(key)
	if err != nil {
		return
	}
	name := nameOf(schedule.Key{Namespace: space, ID: id})
	v := calendarVersion{at: now}
	if len(data) > 0 {
		mustDecode(data, &v.record)
	} else {
		w.promisedUnused(name)
	}
	w.books.calendars[name] = append(w.books.calendars[name], v)
}

// promisedUnused: when a calendar is deleted no schedule uses it, except one that was written after the deletion had begun: its
// request was already in progress.
func (w *world) promisedUnused(name string) {
	versions := w.books.calendars[name]
	if len(versions) == 0 {
		return
	}
	begun := versions[len(versions)-1].at // the mark is the last thing that was written
	for i := range w.plan.Schedules {
		id := w.plan.scheduleID(i)
		d, ok := w.stored(id)
		if ok && uses(&d, name) && w.usesSince(id, name).Before(begun) {
			w.ledger.find("calendar", id, "%s was deleted, and is used since %s", name, w.usesSince(id, name).Sub(w.trace.begin))
		}
	}
}

func uses(d *wire.Definition, name string) bool {
	calendar := keyOf(name)
	return d.Namespace == calendar.Namespace && slices.Contains(d.Schedule.Spec.ExcludeCalendarsNamed, calendar.ID)
}

// usesSince is when the schedule began to name a calendar without interruption until now.
func (w *world) usesSince(id, name string) (since time.Time) {
	versions := w.books.versions[id]
	for i := len(versions) - 1; i >= 0; i-- {
		v := &versions[i]
		if v.definition.Incarnation == "" || !uses(&v.definition, name) {
			break
		}
		since = v.at
	}
	return since
}

// unfinishedJob names a background job that has not ended; empty if there is none.
func (w *world) unfinishedJob() string {
	bucket := w.names.ClusterBucket()
	for _, m := range w.server.Messages(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, "job.>")) {
		var job struct{ Kind, Status string }
		if !isTombstone(&m) {
			if mustDecode(m.Data, &job); job.Status == "running" {
				return "the job " + job.Kind + " " + m.Subject
			}
		}
	}
	return ""
}

// excludedByName reports whether a named calendar of a definition leaves out a time. Dates are in UTC, which all specs here
// use.
func excludedByName(d *wire.Definition, at time.Time) bool {
	date := at.UTC().Format(time.DateOnly)
	for _, name := range d.Schedule.Spec.ExcludeCalendarsNamed {
		c := d.Calendars[name]
		if slices.ContainsFunc(c.Windows, func(b schedule.Blackout) bool { return !at.Before(b.From) && at.Before(b.To) }) {
			return true
		}
		for _, dates := range c.Dates {
			first, last, isRange := strings.Cut(string(dates), "/")
			if !isRange {
				last = first
			}
			if first <= date && date <= last {
				return true
			}
		}
	}
	return false
}
