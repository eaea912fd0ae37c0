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

// settleAfter is the quiet time after the last event of a catch-up before the view sums it up.
const settleAfter = 500 * time.Millisecond

// catchUp sums up the actions of one schedule that were due before the process began.
type catchUp struct {
	open        map[string]struct{} // request IDs of actions that have not ended
	completed   int
	others      map[schedule.EventKind]int // skipped, dropped, …
	first, last time.Time                  // nominal times of the completed ones
	changed     time.Time
}

// isCaughtUp reports whether an event is about an automatic action that was due before the process began. An event about missed actions may
// not name their times. It counts as caught up as long as the schedule has not come to actions due after that moment.
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

// trackCatchUp records an event about an action that is being caught up. It reports whether the event deserves a line of its own: only the
// end of such an action does.
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

// Settle writes a line for each schedule that has caught up and has been quiet since. Call it at short intervals.
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

// summary returns a text such as "17 actions, of 10:00:04 to 10:00:36; 3 skipped".
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
