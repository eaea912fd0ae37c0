package audit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// interval is a time, for certain or perhaps.
type interval struct {
	from, to time.Time
	certain  bool
}

// pauses are when the schedule was paused, by its events after the last update, if there was one: an update may pause and unpause
// as well. What it was first, the first of them tells. If that is an unpause it says so not for certain: what is not paused can be
// unpaused. Nor does a pause from before begin, when the audit does: the clock of who has paused it was behind.
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

// sortChanges puts changes of a definition in order: by the versions they made, after which they are called. Clocks may be
// apart. Where an older pause on failure bears no version, there are only the times.
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

// wasPaused reports whether a time may lie in a pause: the clocks of two processes differ.
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

// overtaken reports whether a pause came before anybody had looked at a time, as when no generator was there: what is due
// then, and not in the buffer, is not done (docs/semantics.md §3). Due times are looked at in order, so no later one of before the
// pause has been either; which of them lie before it, the clocks of two processes say differently.
func (a *auditor) overtaken(at time.Time) bool {
	return slices.ContainsFunc(a.paused, func(i interval) bool {
		return i.from.After(at) && !slices.ContainsFunc(a.auto, func(later time.Time) bool {
			return later.After(at) && later.Before(i.from.Add(-a.Slack))
		})
	})
}
