package audit

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// request is a trigger or backfill, by its events.
type request struct {
	asked, ended *schedule.Event
	fates        int
}

// requests compares what people have asked for with what was started.
func (a *auditor) requests() {
	all := map[string]*request{}
	at := func(source string) *request {
		if all[source] == nil {
			all[source] = &request{}
		}
		return all[source]
	}
	for i := range a.Events {
		e := &a.Events[i]
		if e.Source == "" || e.Source == schedule.SourceAuto {
			continue
		}
		fate, end := fateOf(e)
		switch {
		case end:
			at(e.Source).fates += max(e.Count, 1)
			a.report.Manual[fate] += max(e.Count, 1)
		case e.Kind == schedule.EventTriggered, e.Kind == schedule.EventBackfillRequested:
			at(e.Source).asked = e
		case e.Kind == schedule.EventBackfillCompleted, e.Kind == schedule.EventBackfillCanceled:
			at(e.Source).ended = e
		}
	}
	for source, r := range all {
		if r.asked != nil && r.asked.Time.After(a.report.From) && r.asked.Time.Before(a.Now.Add(-a.Slack)) {
			a.request(source, r)
		}
	}
}

func (a *auditor) request(source string, r *request) {
	pending := slices.ContainsFunc(a.Description.Info.Backfills, func(p schedule.BackfillProgress) bool {
		return p.BackfillID == source
	})
	switch asked := r.asked; {
	case pending:
	case asked.Kind == schedule.EventTriggered && r.fates == 0 && r.ended == nil:
		a.find(KindLost, asked.Time, source, "trigger of %s: nothing says what became of it", stamp(asked.Time))
	case asked.Kind == schedule.EventTriggered && r.fates > 1:
		a.find(KindDoubled, asked.Time, source, "trigger of %s has %d fates", stamp(asked.Time), r.fates)
	case asked.Kind == schedule.EventTriggered:
	case r.ended == nil:
		a.find(KindLost, time.Time{}, source, "backfill of %s to %s: it is not in progress, and no event ends it",
			stamp(asked.First), stamp(asked.Last))
	case r.ended.Count != r.fates:
		a.find(KindCount, time.Time{}, source, "backfill of %s to %s: ended with %d actions, and %d have a fate",
			stamp(asked.First), stamp(asked.Last), r.ended.Count, r.fates)
	}
}
