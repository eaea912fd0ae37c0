package consistency

import (
	"cmp"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

// overdue is how long after its time a timer counts as one that will not fire. An election of NATS takes seconds.
const overdue = time.Minute

// inspect returns the findings of a snapshot. It is a pure function.
func inspect(s Snapshot) []Finding {
	in := inspector{Snapshot: s}
	in.unreadable()
	in.tasks()
	switch {
	case !s.Definition.there():
		in.gone()
	case s.Definition.legible():
		in.generator()
		in.invoker()
		in.runs()
		in.backfills()
	}
	return in.findings
}

type inspector struct {
	Snapshot
	findings []Finding
}

// found adds a finding that mend repairs.
func (in *inspector) found(kind Kind, about, evidence string, m mend, repair, what string, args ...any) *Finding {
	in.findings = append(in.findings, Finding{
		Kind: kind, Namespace: in.Key.Namespace, ScheduleID: in.Key.ID, About: about, evidence: evidence, mend: m,
		What: fmt.Sprintf(what, args...), Repair: repair, Repairable: m != nil,
	})
	return &in.findings[len(in.findings)-1]
}

// askedFor adds a finding that only a person may decide to repair.
func (in *inspector) askedFor(kind Kind, about, evidence string, m mend, repair, what string, args ...any) {
	in.found(kind, about, evidence, m, repair, what, args...).asked = true
}

func revision(revisions ...uint64) string { return fmt.Sprint(revisions) }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// wake returns the wake that tells a pool to look at the schedule again.
func (in *inspector) wake() wire.Wake {
	d := &in.Definition.Value
	return wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonRetry}
}

// tasks finds the messages that no pool will ever receive. A pool recognizes a repeated message.
func (in *inspector) tasks() {
	for i := range in.Tasks {
		t := &in.Tasks[i]
		if t.Passed {
			in.found(TaskStranded, t.Subject, revision(t.Sequence), again{t.Subject, t.Sequence}, "send it again",
				"the message on %s waits for its pool, whose consumer has passed over it", t.Subject)
		}
	}
}

// generator checks that the generator knows the schedule and will look at it when the next action is due.
func (in *inspector) generator() {
	d, g := &in.Definition.Value, &in.Generator
	if in.generating() {
		return
	}
	switch {
	case !g.there() || g.legible() && g.Value.Incarnation != d.Incarnation:
		in.noGenerator()
	case !g.legible():
	case g.Value.Version < d.Version:
		in.found(ChangeUnseen, "", revision(in.Definition.Revision, g.Revision), wakeGenerator{wake: in.wake()},
			"wake the generator", "the generator has seen version %d of the definition and not version %d", g.Value.Version, d.Version)
	case in.hasOtherZone():
		in.found(ZoneOutdated, "", revision(in.Definition.Revision, g.Revision), wakeGenerator{wake: in.wake()},
			"wake the generator, which works them out anew", "the times were worked out by other rules of the time zone: "+
				"data %s, here it is %s", cmp.Or(g.Value.ZoneData, "of an earlier release"), wire.ZoneRulesOf(d.Schedule.Spec.AsStored()).Data)
	default:
		in.dueTimer()
		in.handOff()
	}
}

// hasOtherZone reports whether the generator's record was made by other rules of the time zone than those of this process.
func (in *inspector) hasOtherZone() bool {
	rules := wire.ZoneRulesOf(in.Definition.Value.Schedule.Spec.AsStored()).Rules
	return rules != "" && rules != in.Generator.Value.ZoneRules
}

// noGenerator reports a schedule whose generator has no record. If the schedule never had a due action, the generator may begin
// anew. For any other schedule that would count everything since its creation again, so the repair rebuilds the record from what
// the invoker has taken over.
func (in *inspector) noGenerator() {
	evidence := revision(in.Definition.Revision, in.Generator.Revision)
	const what = "the generator has no record of the schedule"
	if in.settled().IsZero() {
		in.found(GeneratorMissing, "", evidence, wakeGenerator{wake: in.wake()}, "wake the generator, which begins anew", what)
		return
	}
	in.found(GeneratorMissing, "", evidence, in.rebuild(), "write one that goes on after "+instant(in.settled())+
		", the last time the invoker was given, and wake the generator", what)
}

// settled returns the time up to which all actions have been handed over, as far as the invoker's record and the event history
// show; zero if neither has any.
func (in *inspector) settled() time.Time {
	last := in.LastTold
	for _, span := range in.covered() {
		if span.To.After(last) {
			last = span.To
		}
	}
	return last
}

// rebuild returns the repair that writes the generator's record. The record says that the generator has seen the newest version
// of the definition, because nobody waits for the generator to see it.
func (in *inspector) rebuild() mend {
	d := &in.Definition.Value
	mark := in.settled()
	if mark.IsZero() {
		mark = d.CreateTime
	}
	state := wire.GeneratorState{
		Incarnation: d.Incarnation, Mark: in.markFrom(mark), HandedOff: mark, Version: d.Version, LastNominal: in.lastNominal(mark),
	}
	return putGenerator{state: state, revision: in.Generator.Revision, wake: in.wake()}
}

// markFrom returns where a generator continues that begins anew at a time. If a calendar changed later than that, it continues
// after the change: it must skip what the calendar excluded before, which only the lost record would tell.
func (in *inspector) markFrom(from time.Time) time.Time {
	if replanned := in.Definition.Value.ReplanFrom; replanned.After(from) {
		return replanned
	}
	return from
}

// lastNominal returns the newest nominal time up to a mark that the invoker remembers.
func (in *inspector) lastNominal(mark time.Time) time.Time {
	if in.covered() == nil {
		return time.Time{}
	}
	return in.Invoker.Value.LastNominal(mark)
}

// dueTimer checks that something will wake the generator when the next action is due.
func (in *inspector) dueTimer() {
	g := &in.Generator.Value
	at, what := g.Next, "the next action is due"
	if at.IsZero() {
		at, what = g.IdleDeadline, "the schedule is to close"
	}
	if at.IsZero() || in.Definition.Value.Schedule.State.Paused {
		return
	}
	evidence := revision(in.Definition.Revision, in.Generator.Revision)
	m := wakeGenerator{wake: in.wake()}
	switch {
	case !in.timer(timerDue, ""):
		in.found(DueTimerMissing, "", evidence, m, "wake the generator, which sets it",
			"no timer is set for %s, when %s", instant(at), what)
	case in.Now.Sub(at) > overdue:
		in.found(DueTimerMissing, "", evidence, m, "wake the generator, which sets it anew",
			"the timer for %s, when %s, has not fired", instant(at), what)
	}
}

// handOff checks that everything that the generator handed over has arrived. The repair sets the generator back to where
// something is missing, and the generator begins its next hand-off there. It may have none to make before a pause ends, for
// example, and until then nothing else can be done. The evidence is the place of the gap, and not the revision of the record: the
// generator of a schedule that is often due continues meanwhile and writes its record.
func (in *inspector) handOff() {
	g := &in.Generator.Value
	gap, is := in.gap()
	if !is || in.invoking() || !g.HandedOff.After(gap.From) {
		return
	}
	state := *g
	state.Mark, state.HandedOff, state.LastNominal = in.markFrom(gap.From), gap.From, in.lastNominal(gap.From)
	in.askedFor(HandOffLost, "", gap.From.UTC().Format(time.RFC3339Nano),
		putGenerator{state: state, revision: in.Generator.Revision, wake: in.wake()},
		"set the generator back to "+instant(gap.From)+": it hands over again what is still within the catch-up window",
		"what was due after %s and up to %s has not reached the invoker", instant(gap.From), instant(gap.To))
}

// gap returns the first range that the generator may have handed over and the invoker does not have. The time before everything
// that the invoker has is such a range only if no event reports on it, because an invoker that lost its record does not know what
// it had.
func (in *inspector) gap() (gap wire.Span, is bool) {
	covered, end := in.covered(), in.Generator.Value.HandedOff
	switch {
	case in.Untold:
		until, _ := in.beginsLate()
		return wire.Span{From: in.Definition.Value.CreateTime, To: until}, true
	case len(covered) == 0:
		return wire.Span{}, false
	case len(covered) > 1:
		end = covered[1].From
	}
	return wire.Span{From: covered[0].To, To: end}, true
}
