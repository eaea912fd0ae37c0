package audit

import (
	"iter"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// between yields the times of the spec in a range, until ctx ends. They may be very many, and a report of half of them would be wrong.
func (a *auditor) between(from, to time.Time) iter.Seq[specproc.Time] {
	return func(yield func(specproc.Time) bool) {
		for t := range a.spec.Between(from, to, a.Description.Namespace+"-"+a.Description.ID) {
			if a.ctx.Err() != nil || !yield(t) {
				return
			}
		}
	}
}

// walk goes through the times of the spec.
func (a *auditor) walk() {
	var firstWaiting, last time.Time
	waiting, seen := 0, 0
	for t := range a.between(a.report.From, a.report.To) {
		if a.MaxTimes > 0 && seen == a.MaxTimes {
			a.report.To, a.report.Next = last, last.Add(1)
			break
		}
		seen, last = seen+1, t.Actual
		fate := a.fate(t)
		a.report.Fates[fate]++
		if a.Each != nil {
			a.Each(t.Nominal, fate)
		}
		switch fate {
		case Waiting:
			if waiting++; waiting == 1 {
				firstWaiting = t.Nominal
			}
		case Unexplained:
			a.find(KindMissed, t.Nominal, schedule.SourceAuto, "due at %s, and nothing says what became of it", stamp(t.Actual))
		}
	}
	if size := a.Description.Info.BufferSize; waiting > size {
		// Starts usually leave the buffer in order.
		a.find(KindLost, firstWaiting, schedule.SourceAuto,
			"%d starts from here on have been put into the buffer and not left it, by the events; it holds %d", waiting, size)
	}
	a.spansAgree()
}

// spansAgree compares the counts of events with the times that they stand for.
func (a *auditor) spansAgree() {
	for _, s := range a.spans {
		within := s.Source == schedule.SourceAuto && s.First.After(a.report.From) && !s.Last.After(a.report.To)
		if within && (s.Count < s.matched || s.Count > s.matched+s.others) {
			a.find(KindCount, s.First, s.Source, "an event says that %d actions from %s to %s were %s; the spec has %d such times",
				s.Count, stamp(s.First), stamp(s.Last), s.Kind, s.matched)
		}
	}
}

// fate explains one time of the spec.
func (a *auditor) fate(t specproc.Time) Fate {
	key := action{schedule.SourceAuto, t.Nominal.UnixNano()}
	fates := a.fates[key]
	delete(a.fates, key)
	a.once(fates)
	var given *span
	for _, s := range a.spans {
		switch {
		case s.Source != schedule.SourceAuto || !s.holds(t.Nominal):
		case len(fates) > 0 || given != nil:
			s.others++
		default:
			s.matched++
			given = s
		}
	}
	if given != nil {
		fate, _ := fateOf(given.Event)
		return fate
	}
	switch {
	case len(fates) > 0:
		fate, _ := fateOf(fates[0])
		if fate == Started && a.wasCertainlyPaused(t.Actual) {
			a.find(KindUnexpected, t.Nominal, schedule.SourceAuto, "was started while the schedule was paused")
		}
		return fate
	case a.ended[key]:
		a.find(KindLost, t.Nominal, schedule.SourceAuto, "due at %s, has ended, and no event tells of its start", stamp(t.Actual))
		return Started
	case a.buffered[key], a.isInBuffer(t.Nominal):
		return Waiting
	case a.wasPaused(t.Actual), a.overtaken(t.Actual):
		return Paused
	case a.exhausted(t.Nominal):
		return Exhausted
	case slices.ContainsFunc(a.Description.Info.Skips, t.Nominal.Equal):
		return OnRequest
	}
	return Unexplained
}

// isInBuffer reports whether an automated start is among the first waiting ones.
func (a *auditor) isInBuffer(nominal time.Time) bool {
	return slices.ContainsFunc(a.Description.Info.Buffer, func(w schedule.WaitingStart) bool {
		return w.Source == schedule.SourceAuto && w.NominalTime.Equal(nominal)
	})
}
