package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// Fate is what happened to a time of the spec.
type Fate string

// The fates.
const (
	Started     Fate = "started"
	Skipped     Fate = "skipped"
	OnRequest   Fate = "skipped_on_request"
	Missed      Fate = "missed"
	Dropped     Fate = "dropped"
	Waiting     Fate = "waiting"     // in the buffer
	Paused      Fate = "paused"      // not due: the schedule was paused
	Exhausted   Fate = "exhausted"   // not due: no action was left
	Unexplained Fate = "unexplained" // also a finding
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	// KindMissed: a time of the spec whose fate nothing explains.
	KindMissed Kind = "unexplained"
	// KindDoubled: an action has more than one fate, or was started twice.
	KindDoubled Kind = "doubled"
	// KindUnexpected: an automated action at a time that is not in the spec.
	KindUnexpected Kind = "unexpected"
	// KindCount: an event counts another number of actions than the spec has.
	KindCount Kind = "count"
	// KindLost: a start or run without an end in the events that the schedule does not know any more, or an end without a start.
	KindLost Kind = "lost"
)

// Finding is something that is not as it should be.
type Finding struct {
	Kind Kind `json:"kind"`
	// Nominal is the time concerned; zero if there is none.
	Nominal time.Time `json:"nominalTime,omitzero"`
	// Source is schedule.SourceAuto, or the ID of a trigger or backfill.
	Source string `json:"source,omitempty"`
	// Text explains it in one line.
	Text string `json:"text"`
}

// DefaultSlack is the slack for a running system: anything younger may still be under way.
const DefaultSlack = 15 * time.Second

// Input is what an audit needs.
type Input struct {
	// Description is the schedule as it is now. Events are its history, the oldest first. The audit leaves out events of earlier
	// schedules of the same ID.
	Description *schedule.Description
	Events      []schedule.Event
	// Calendars are the calendars that the spec names, by name, in the versions that the schedule uses.
	Calendars map[string]schedule.NamedCalendar
	// From and To limit the times, both inclusive. Zero From means from the last update on.
	From, To time.Time
	// Now is the time of the audit.
	Now time.Time
	// Slack is how long something may be in progress. That includes the time from when a change was requested, which is the
	// recorded time, until it was made. It is also how far clocks may be apart.
	Slack time.Duration
	// MaxTimes is how many times of the spec the audit goes through, the earliest first; 0 means all. There may be 31 million in a year.
	MaxTimes int
	// Each is called for each time of the spec, in order, with what became of it. Nil means that nobody asks.
	Each func(nominal time.Time, fate Fate)
}

// Report is the result of an audit.
type Report struct {
	ID string `json:"id"`
	// From and To are the audited range: times with From < actual time ≤ To.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Fates counts the times of the spec by their fate, Manual the starts that users requested.
	Fates  map[Fate]int `json:"fates"`
	Manual map[Fate]int `json:"manual,omitempty"`
	// Findings is empty if everything is explained. It has 10,000 at most; MoreFindings counts those beyond.
	Findings     []Finding `json:"findings"`
	MoreFindings int       `json:"moreFindings,omitempty"`
	// Next is set if the range has more times than Input.MaxTimes. It is the From of an audit that goes on from there, and To is then the
	// last time that was looked at. An event about times on both sides is not counted in either audit.
	Next time.Time `json:"next,omitzero"`
}

// Found returns how many findings there are.
func (r *Report) Found() int { return len(r.Findings) + r.MoreFindings }

// maxFindings bounds the findings that a report has.
const maxFindings = 10_000

// Run audits one schedule. It fails if the spec cannot be compiled, and when ctx ends. It takes about a tenth of a second for a million
// times.
func Run(ctx context.Context, in Input) (Report, error) {
	spec, err := specproc.CompileWith(in.Description.Spec, in.Calendars)
	if err != nil {
		return Report{}, err
	}
	d := in.Description
	a := auditor{Input: in, ctx: ctx, spec: spec, report: Report{ID: d.ID, Fates: map[Fate]int{}, Manual: map[Fate]int{}, Findings: []Finding{}}}
	for _, change := range []time.Time{d.Info.UpdateTime, d.Info.ReplanTime} {
		if !change.IsZero() {
			a.changed = latest(a.changed, change.Add(in.Slack))
		}
	}
	a.Events, a.since = ofNewest(in.Events, latest(d.Info.CreateTime, a.changed))
	a.report.From = latest(in.From.Add(-1), a.since)
	a.report.To = earliest(in.To, in.Now.Add(-in.Slack))
	a.read()
	a.walk()
	a.unexpected()
	a.running()
	a.requests()
	slices.SortStableFunc(a.report.Findings, func(x, y Finding) int { return x.Nominal.Compare(y.Nominal) })
	return a.report, ctx.Err()
}

// ofNewest leaves out repeats, and events of earlier schedules of the same ID: event IDs contain the incarnation. It also returns
// the time from which the events are complete. The history is kept for a limited time, and may not go back to the creation.
func ofNewest(events []schedule.Event, since time.Time) ([]schedule.Event, time.Time) {
	incarnation := newestIncarnation(events)
	var own []schedule.Event
	known := map[string]bool{}
	for i := range events {
		id := events[i].ID
		if !known[id] && (incarnation == "" || events[i].IsOf(incarnation)) {
			known[id] = true
			own = append(own, events[i])
		}
	}
	if incarnation == "" && len(own) > 0 {
		since = latest(since, own[0].Time)
	}
	return own, since
}

// newestIncarnation returns the incarnation that was created last, of those that no event reports as gone: a slow frontend may
// store the creation event of an earlier schedule late. It is empty if the history does not go back to a creation.
func newestIncarnation(events []schedule.Event) string {
	for i := range slices.Backward(events) {
		if events[i].Kind != schedule.EventCreated {
			continue
		}
		if incarnation := events[i].Created(); !schedule.IsGone(incarnation, events) {
			return incarnation
		}
	}
	return ""
}

// auditor is an audit in progress.
type auditor struct {
	Input
	ctx    context.Context
	spec   *specproc.Spec
	report Report
	// since is when the knowledge of the spec, and of the events, begins.
	since time.Time
	// changed is when the last update or replanning was over by any clock; zero if there was none.
	changed time.Time

	fates    map[action][]*schedule.Event
	spans    []*span
	buffered map[action]bool
	ended    map[action]bool
	paused   []interval
	lastAuto time.Time   // nominal time of the newest automated start
	auto     []time.Time // due times that were handed over or given up
}

// action identifies an action: a source has a nominal time only once.
type action struct {
	source  string
	nominal int64
}

func actionOf(e *schedule.Event) action { return action{e.Source, e.Nominal.UnixNano()} }

// span is an event that stands for several actions, and how many times of the spec it may stand for: matched are those that
// nothing else explains, others the rest. A generator that was interrupted may count what has been started or given up meanwhile.
type span struct {
	*schedule.Event
	matched, others int
}

func (s *span) holds(t time.Time) bool { return !t.Before(s.First) && !t.After(s.Last) }

// fateOf returns what an event says about the fate of an action; false if it says nothing about it.
func fateOf(e *schedule.Event) (Fate, bool) {
	switch e.Kind {
	case schedule.EventStarted:
		return Started, true
	case schedule.EventMissed:
		return Missed, true
	case schedule.EventDropped:
		return Dropped, true
	case schedule.EventSkipped:
		if e.Overlap == "" {
			return OnRequest, true
		}
		return Skipped, true
	}
	return "", false
}

// read sorts the events.
func (a *auditor) read() {
	a.fates, a.buffered, a.ended = map[action][]*schedule.Event{}, map[action]bool{}, map[action]bool{}
	for i := range a.Events {
		e := &a.Events[i]
		_, end := fateOf(e)
		if e.Source == schedule.SourceAuto && (end || e.Kind == schedule.EventDeferred) {
			a.auto = append(a.auto, latest(e.Actual, e.Last))
		}
		switch {
		case end && e.Nominal.IsZero():
			a.spans = append(a.spans, &span{Event: e})
		case end:
			a.fates[actionOf(e)] = append(a.fates[actionOf(e)], e)
			if e.Kind == schedule.EventStarted && e.Source == schedule.SourceAuto {
				a.lastAuto = latest(a.lastAuto, e.Nominal)
			}
		case e.Kind == schedule.EventDeferred || e.Kind == schedule.EventRetried:
			a.buffered[actionOf(e)] = true
		case e.Kind == schedule.EventCompleted:
			a.ended[actionOf(e)] = true
		}
	}
	a.paused = pauses(a.Events, a.changed, a.since, a.Description.State.Paused)
}

func (a *auditor) find(kind Kind, nominal time.Time, source, format string, args ...any) {
	if len(a.report.Findings) == maxFindings {
		a.report.MoreFindings++
		return
	}
	a.report.Findings = append(a.report.Findings, Finding{kind, nominal, source, fmt.Sprintf(format, args...)})
}

// once finds an action with several fates. A start that is given up may have been published nevertheless. Then a termination
// follows it, and no second start.
func (a *auditor) once(fates []*schedule.Event) {
	starts := 0
	for _, e := range fates {
		if e.Kind == schedule.EventStarted {
			starts++
		}
	}
	if len(fates) > 1 {
		e := fates[len(fates)-1]
		a.find(KindDoubled, e.Nominal, e.Source, "has %d fates, %d of them starts; the last is %s at %s",
			len(fates), starts, e.Kind, stamp(e.Time))
	}
}

// exhausted reports whether no automated action was left at a time.
func (a *auditor) exhausted(nominal time.Time) bool {
	state := a.Description.State
	return state.LimitedActions && state.RemainingActions == 0 && nominal.After(a.lastAuto)
}

// unexpected finds automated actions at times that are not in the spec. After the walk, fates has only such actions.
func (a *auditor) unexpected() {
	for _, fates := range a.fates {
		e := fates[0]
		if e.Source == schedule.SourceAuto && e.Actual.After(a.report.From) && !e.Actual.After(a.report.To) {
			a.find(KindUnexpected, e.Nominal, e.Source, "was %s, and the spec gives no such time", e.Kind)
		}
	}
}

// isAbout reports whether the audit is about an event that has no time of the spec. Of several parts of an audit, one is. Without To, there is no end.
func (a *auditor) isAbout(e *schedule.Event) bool {
	end := a.To
	if !a.report.Next.IsZero() {
		end = a.report.Next.Add(-1)
	}
	return e.Time.After(a.report.From) && (end.IsZero() || !e.Time.After(end))
}

// running finds runs that have begun and not ended, and that the schedule does not know.
func (a *auditor) running() {
	open, known := map[string]*schedule.Event{}, map[string]bool{}
	for i := range a.Events {
		switch e := &a.Events[i]; e.Kind {
		case schedule.EventStarted:
			open[e.RequestID] = e
		case schedule.EventCompleted:
			known[e.RequestID] = true // the completion may be stored before the start
		}
	}
	for _, run := range a.Description.Info.RunningWorkflows {
		known[run.RequestID] = true
	}
	for requestID, e := range open {
		if !known[requestID] && e.Time.Before(a.Now.Add(-a.Slack)) && a.isAbout(e) {
			a.find(KindLost, e.Nominal, e.Source, "run %s was started and has not ended, and the schedule does not know of it", e.RunID)
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
