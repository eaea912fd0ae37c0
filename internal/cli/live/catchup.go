package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// settleAfter is how long nothing may have happened to what is caught up before it is summed up.
const settleAfter = 500 * time.Millisecond

// catchUp sums up the actions of one schedule that were due before the process began.
type catchUp struct {
	open        map[string]struct{} // request IDs on their way
	completed   int
	others      map[schedule.EventKind]int // skipped, dropped, …
	first, last time.Time                  // nominal times of the completed ones
	changed     time.Time
}

// isCaughtUp reports whether an event is about an automatic action that was due before the process began. What was missed
// is not always named; until the schedule has come to the present, it was missed while the process was away.
func (v *View) isCaughtUp(e schedule.Event) bool {
	switch {
	case e.Manual:
		return false
	case e.Actual.IsZero():
		return e.Kind == schedule.EventMissed && !v.current[e.ScheduleID]
	case e.Actual.Before(v.config.Started):
		return true
	}
	v.current[e.ScheduleID] = true
	return false
}

// trackCatchUp takes in an event about an action that is caught up and reports whether it deserves a line of its own:
// the way of such an action matters less than its end.
func (v *View) trackCatchUp(e schedule.Event) bool {
	c := v.catchUp[e.ScheduleID]
	if c == nil {
		c = &catchUp{open: map[string]struct{}{}, others: map[schedule.EventKind]int{}}
		v.catchUp[e.ScheduleID] = c
	}
	if e.Time.After(c.changed) {
		c.changed = e.Time
	}
	switch e.Kind {
	case schedule.EventDeferred, schedule.EventStarted:
		c.open[e.RequestID] = struct{}{}
		return false
	case schedule.EventCompleted:
		c.complete(e.Nominal)
	case schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped:
		c.others[e.Kind] += cmp.Or(e.Count, 1)
	default:
		return true
	}
	delete(c.open, e.RequestID)
	return true
}

func (c *catchUp) complete(nominal time.Time) {
	if c.completed == 0 || nominal.Before(c.first) {
		c.first = nominal
	}
	if nominal.After(c.last) {
		c.last = nominal
	}
	c.completed++
}

// Settle writes a line for each schedule that has caught up and been quiet since. It is to be called every now and then.
func (v *View) Settle(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(v.catchUp)) {
		c := v.catchUp[id]
		if len(c.open) > 0 || now.Sub(c.changed) < settleAfter {
			continue
		}
		delete(v.catchUp, id)
		_, _ = fmt.Fprintf(v.config.Out, "%s\n", v.paint(render.Bold, "continuing: "+id+" caught up "+c.summary(v.config.Zone)))
	}
}

// summary is such as "17 actions of 10:00:04 to 10:00:36; 3 skipped".
func (c *catchUp) summary(zone *time.Location) string {
	clock := func(t time.Time) string { return t.In(zone).Format(clockFormat) }
	var text string
	switch c.completed {
	case 0:
		text = "no action"
	case 1:
		text = "1 action, of " + clock(c.last)
	default:
		text = fmt.Sprintf("%d actions, of %s to %s", c.completed, clock(c.first), clock(c.last))
	}
	var rest []string
	for _, kind := range slices.Sorted(maps.Keys(c.others)) {
		rest = append(rest, fmt.Sprintf("%d %s", c.others[kind], kind))
	}
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, ", ")
	}
	return text
}

func (v *View) paint(color render.Color, text string) string {
	if !v.config.Color {
		return text
	}
	return color.Paint(text)
}
