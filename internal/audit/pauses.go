package audit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// interval is a stretch of time. certain is false if it may be shorter or absent.
type interval struct {
	from, to time.Time
	certain  bool
}

// pauses returns when the schedule was paused, according to its events after the last update, if there was one. An update may
// pause and unpause as well, so the first event shows the state before it. An unpause shows that only as a possibility, because a
// schedule that is not paused can be unpaused. A pause that began before the audit is a possibility too, because the clock of the
// process that paused may have been behind.
func pauses(events []schedule.Event, updated, begin time.Time, now bool) []interval {
	changes := slices.Clone(events)
	changes = slices.DeleteFunc(changes, func(e schedule.Event) bool {
		return e.Kind != schedule.EventPaused && e.Kind != schedule.EventUnpaused || !e.Time.After(updated)
	})
	sortChanges(changes)
	var all []interval
	var since time.Time
	open := len(changes) > 0 && changes[0].Kind == schedule.EventUnpaused || len(changes) == 0 && now
	for i := range changes {
		switch paused := changes[i].Kind == schedule.EventPaused; {
		case paused && !open:
			since, open = changes[i].Time, true
		case !paused && open:
			all, open = append(all, interval{since, changes[i].Time, since.After(begin)}), false
			since = time.Time{}
		}
	}
	if open || now {
		all = append(all, interval{since, time.Unix(1<<40, 0), since.After(begin) || len(changes) == 0})
	}
	return all
}

// sortChanges sorts changes of a definition by the versions that they made, which their event IDs contain, because clocks may be
// apart. If the event of a pause on failure from an earlier release has no version, it sorts all by their times.
func sortChanges(changes []schedule.Event) {
	versions := make(map[string]uint64, len(changes))
	for i := range changes {
		_, version, ok := strings.Cut(changes[i].ID, "-"+string(changes[i].Kind)+"-")
		number, err := strconv.ParseUint(version, 10, 64)
		if !ok || err != nil {
			versions = nil
			break
		}
		versions[changes[i].ID] = number
	}
	slices.SortStableFunc(changes, func(x, y schedule.Event) int {
		if versions == nil {
			return x.Time.Compare(y.Time)
		}
		return cmp.Compare(versions[x.ID], versions[y.ID])
	})
}

// wasPaused reports whether a time may lie in a pause. The clocks of two processes may differ.
func (a *auditor) wasPaused(at time.Time) bool {
	return slices.ContainsFunc(a.paused, func(i interval) bool {
		return at.After(i.from.Add(-a.Slack)) && at.Before(i.to.Add(a.Slack))
	})
}

// wasCertainlyPaused reports whether a time lies in a pause by any clock.
func (a *auditor) wasCertainlyPaused(at time.Time) bool {
	return slices.ContainsFunc(a.paused, func(i interval) bool {
		return i.certain && at.After(i.from.Add(a.Slack)) && at.Before(i.to.Add(-a.Slack))
	})
}

// overtaken reports whether a pause came before any generator had looked at a time, for example because none was running. What is
// due then, and not in the buffer, is not done (docs/semantics.md §3). The generator looks at due times in order, so it has not
// looked at a later one before the pause either. The clocks of two processes may disagree about which times lie before the pause.
func (a *auditor) overtaken(at time.Time) bool {
	return slices.ContainsFunc(a.paused, func(i interval) bool {
		return i.from.After(at) && !slices.ContainsFunc(a.auto, func(later time.Time) bool {
			return later.After(at) && later.Before(i.from.Add(-a.Slack))
		})
	})
}
