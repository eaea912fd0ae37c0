package namespaces

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
)

var noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

// crowd is a set of frontends that create, delete and count the schedules of one namespace, in any order.
type crowd struct {
	limit int
	now   time.Time
	tally tally
	// there has the schedules; underway has those with a place that will be written by a time.
	there    map[string]bool
	underway map[string]time.Time
	// ahead has the places taken in advance, by the time until which they may be used.
	ahead map[time.Time]int
	made  int
}

func (c *crowd) keys() []schedule.Key {
	var keys []schedule.Key
	for id := range c.there {
		keys = append(keys, schedule.Key{ID: id})
	}
	slices.SortFunc(keys, func(a, b schedule.Key) int { return cmpID(a, b) })
	return keys
}

func cmpID(a, b schedule.Key) int {
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

// create takes a place and begins to create a schedule.
func (c *crowd) create(t *rapid.T) {
	c.made++
	id := fmt.Sprint("s-", c.made)
	for until, places := range c.ahead {
		if places > 0 && c.now.Before(until) {
			c.ahead[until]--
			c.underway[id] = c.now.Add(writeAge)
			return
		}
	}
	if c.tally.stale(c.limit, c.now) {
		c.count(t)
	}
	next, places := c.tally.grant(id, c.limit, c.now)
	if places == 0 {
		return
	}
	c.tally = next
	c.underway[id] = c.now.Add(writeAge)
	if places > 1 {
		c.ahead[c.now.Add(grantAge)] += places - 1
	}
}

func (c *crowd) count(t *rapid.T) {
	if rapid.Bool().Draw(t, "listed") {
		c.tally = c.tally.listed(c.keys(), c.now)
	} else {
		traces := rapid.IntRange(0, 3).Draw(t, "traces of deleted ones")
		c.tally = c.tally.counted(len(c.there)+traces, c.now)
	}
}

// arrive finishes some creations. Those whose time is up have failed.
func (c *crowd) arrive(t *rapid.T) {
	for id, until := range c.underway {
		switch {
		case !c.now.Before(until):
			delete(c.underway, id)
		case rapid.Bool().Draw(t, "arrives"):
			c.there[id] = true
			delete(c.underway, id)
		}
	}
}

func (c *crowd) remove() {
	for id := range c.there {
		delete(c.there, id)
		return
	}
}

// TestNeverTooManySchedules: this holds whatever the frontends do, and when.
func TestNeverTooManySchedules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &crowd{
			limit: rapid.SampledFrom([]int{1, 2, 10, 1500, 5000}).Draw(t, "limit"), now: noon,
			there: map[string]bool{}, underway: map[string]time.Time{}, ahead: map[time.Time]int{},
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				for range rapid.SampledFrom([]int{1, 5, 200}).Draw(t, "creates") {
					c.create(t)
				}
			case 2:
				c.arrive(t)
			case 3:
				c.remove()
			case 4:
				c.now = c.now.Add(time.Duration(rapid.IntRange(0, 15).Draw(t, "seconds")) * time.Second)
			}
			if len(c.there)+len(c.underway) > c.limit {
				for id, until := range c.underway {
					if !c.now.Before(until) {
						delete(c.underway, id) // it has failed
					}
				}
			}
			if got := len(c.there) + len(c.underway); got > c.limit {
				t.Fatalf("%d schedules, and %d may be", got, c.limit)
			}
		}
	})
}

// TestAllPlacesCanBeUsed by creating one schedule after the other.
func TestAllPlacesCanBeUsed(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10, 5000} {
		var now tally
		var keys []schedule.Key
		left := 0
		for i := range limit {
			id := fmt.Sprintf("s-%06d", i)
			if left == 0 {
				if now.stale(limit, noon) {
					now = now.listed(keys, noon)
				}
				now, left = now.grant(id, limit, noon)
				assert.Positive(t, left, "schedule %d of %d", i, limit)
			}
			left--
			keys = append(keys, schedule.Key{ID: id})
		}
		_, places := now.listed(keys, noon.Add(grantAge+writeAge)).grant("more", limit, noon.Add(grantAge+writeAge))
		assert.Zero(t, places)
	}
}

func TestWaitForAPlace(t *testing.T) {
	t.Parallel()
	full := tally{Count: 3, Counted: noon, Grants: []grant{
		{Places: 1, ID: "a", Until: noon.Add(-time.Second)}, {Places: 1, ID: "b", Until: noon.Add(3 * time.Second)},
		{Places: 1, ID: "c", Until: noon.Add(2 * time.Second)},
	}}
	assert.Equal(t, 2*time.Second, full.wait(noon))
	assert.Equal(t, 2, full.counted(0, noon).Count, "what may be on its way")
	assert.Equal(t, 2, full.listed([]schedule.Key{{ID: "b"}}, noon).Count)
	assert.Zero(t, (&tally{}).wait(noon))
}
