package audit

import (
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// request is the events of a trigger or backfill.
type request struct {
	asked, ended *schedule.Event
	fates        []*schedule.Event
}

// count returns how many actions have a fate.
func (r *request) count() int {
	count := 0
	for _, e := range r.fates {
		count += max(e.Count, 1)
	}
	return count
}

// requests compares what users requested with what was started.
func (a *auditor) requests() {
	all := map[string]*request{}
	for i := range a.Events {
		e := &a.Events[i]
		if e.Source == "" || e.Source == schedule.SourceAuto {
			continue
		}
		if all[e.Source] == nil {
			all[e.Source] = &request{}
		}
		r := all[e.Source]
		switch fate, end := fateOf(e); {
		case end:
			r.fates = append(r.fates, e)
			if a.isAbout(e) {
				a.report.Manual[fate] += max(e.Count, 1)
			}
		case e.Kind == schedule.EventTriggered, e.Kind == schedule.EventBackfillRequested:
			r.asked = e
		case e.Kind == schedule.EventBackfillCompleted, e.Kind == schedule.EventBackfillCanceled:
			r.ended = e
		}
	}
	for _, source := range slices.Sorted(maps.Keys(all)) {
		a.request(source, all[source])
	}
}

// request audits one request. It must be old enough to be settled, and not older than the events.
func (a *auditor) request(source string, r *request) {
	pending := slices.ContainsFunc(a.Description.Info.Backfills, func(p schedule.BackfillProgress) bool {
		return p.BackfillID == source
	})
	settled := func(e *schedule.Event) bool { return a.isAbout(e) && e.Time.Before(a.Now.Add(-a.Slack)) }
	switch {
	case pending:
	case r.asked == nil:
		if len(r.fates) > 0 && settled(r.fates[0]) {
			a.find(KindUnexpected, r.fates[0].Nominal, source, "was %s, and nobody has asked for it", r.fates[0].Kind)
		}
	case !settled(r.asked):
	case r.asked.Kind == schedule.EventTriggered:
		a.trigger(source, r)
	default:
		a.backfill(source, r)
	}
}

func (a *auditor) trigger(source string, r *request) {
	switch at := r.asked.Time; {
	case len(r.fates) == 0 && r.ended == nil:
		a.find(KindLost, at, source, "trigger of %s: nothing says what became of it", stamp(at))
	case r.count() > 1:
		a.find(KindDoubled, at, source, "trigger of %s has %d fates", stamp(at), r.count())
	}
}

func (a *auditor) backfill(source string, r *request) {
	if r.ended == nil {
		a.find(KindLost, time.Time{}, source, "backfill of %s to %s: it is not in progress, and no event ends it",
			stamp(r.asked.First), stamp(r.asked.Last))
		return
	}
	// A canceled backfill does not count a batch that was on its way.
	canceled := r.ended.Kind == schedule.EventBackfillCanceled
	if r.ended.Count > r.count() || r.ended.Count < r.count() && !canceled {
		a.find(KindCount, time.Time{}, source, "backfill of %s to %s: ended with %d actions, and %d have a fate",
			stamp(r.asked.First), stamp(r.asked.Last), r.ended.Count, r.count())
		return
	}
	had := map[int64]int{}
	for _, e := range r.fates {
		if e.Nominal.IsZero() {
			return // a span: the numbers agree
		}
		had[e.Nominal.UnixNano()]++
	}
	a.compare(source, r, had)
}

// compare compares the times of a range with the times that have a fate.
func (a *auditor) compare(source string, r *request, had map[int64]int) {
	for t := range a.between(r.asked.First.Add(-1), r.asked.Last) {
		key := t.Nominal.UnixNano()
		switch count := had[key]; {
		case count == 0 && r.ended.Kind == schedule.EventBackfillCompleted:
			a.find(KindMissed, t.Nominal, source, "is a time of the backfill, and nothing says what became of it")
		case count > 1:
			a.find(KindDoubled, t.Nominal, source, "has %d fates", count)
		}
		delete(had, key)
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		a.find(KindUnexpected, time.Unix(0, key).UTC(), source, "was started by the backfill, and is none of its times")
	}
}
