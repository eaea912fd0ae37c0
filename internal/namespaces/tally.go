package namespaces

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// grantAge is how long a frontend may use the places it was granted. writeAge is how long after that the last schedule may
	// still be on its way: longer than a frontend works on a request.
	grantAge = 10 * time.Second
	writeAge = 10 * time.Second
	// grantShare is the divisor that says which part of the free places one grant takes; maxGrant is its largest size. If fewer
	// than twice grantShare are free, each schedule gets a place of its own.
	grantShare = 64
	maxGrant   = 1000
	// maxGrants bounds the grants of one tally: with more, the schedules are counted first. No installation creates schedules so
	// fast that it needs as many.
	maxGrants = 1000
	// tallyAge is the time after which the schedules are counted again even if there seems to be room.
	tallyAge = time.Hour
)

// tally is an upper bound of how many schedules a namespace has. It is stored, and no schedule is created without a place that
// was entered here first. Deleted schedules count until the next count.
type tally struct {
	// Count is the bound; Counted is when the schedules were last counted.
	Count   int       `json:"count"`
	Counted time.Time `json:"counted"`
	// Grants are places that are part of Count and whose schedules may not exist yet.
	Grants []grant `json:"grants,omitempty"`
}

// grant is some places for one frontend, or one place for the schedule ID.
type grant struct {
	Places int    `json:"places"`
	ID     string `json:"id,omitempty"`
	// Until is the time by which all schedules that got these places exist.
	Until time.Time `json:"until"`
}

// stale reports whether the schedules must be counted before another grant.
func (t *tally) stale(limit int, now time.Time) bool {
	return t.Count >= limit || len(t.Grants) >= maxGrants || now.Sub(t.Counted) > tallyAge || now.Before(t.Counted)
}

// grant returns the tally with places for a frontend that is about to create a schedule, and their number. It is 0 if the limit
// is reached.
func (t tally) grant(id string, limit int, now time.Time) (next tally, places int) {
	free := limit - t.Count
	if free <= 0 {
		return t, 0
	}
	given := grant{Places: 1, ID: id, Until: now.Add(writeAge)}
	if places := min(free/grantShare, maxGrant); places > 1 {
		given = grant{Places: places, Until: now.Add(grantAge + writeAge)}
	}
	t.Count += given.Places
	t.Grants = append(t.open(now), given)
	return t, given.Places
}

// open returns the grants whose schedules may not exist yet.
func (t *tally) open(now time.Time) []grant {
	return slices.DeleteFunc(slices.Clone(t.Grants), func(g grant) bool { return !now.Before(g.Until) })
}

// counted returns the tally after a count of at most count schedules. The count must have begun after the tally was read.
func (t tally) counted(count int, now time.Time) tally {
	next := tally{Count: count, Counted: now, Grants: t.open(now)}
	for _, g := range next.Grants {
		next.Count += g.Places
	}
	return next
}

// listed returns the tally after a list of all schedules, ordered by ID. The list must have begun after the tally was read. A
// listed schedule needs no grant any more.
func (t tally) listed(keys []schedule.Key, now time.Time) tally {
	t.Grants = slices.DeleteFunc(slices.Clone(t.Grants), func(g grant) bool {
		_, there := slices.BinarySearchFunc(keys, g.ID, func(k schedule.Key, id string) int { return cmp.Compare(k.ID, id) })
		return there
	})
	return t.counted(len(keys), now)
}

// wait returns how long until a grant ends that may have been unused; 0 if there is none.
func (t *tally) wait(now time.Time) time.Duration {
	var soonest time.Duration
	for _, g := range t.open(now) {
		if left := g.Until.Sub(now); soonest == 0 || left < soonest {
			soonest = left
		}
	}
	return soonest
}
