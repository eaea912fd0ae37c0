package live

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The widths of the columns, in characters.
const (
	timeWidth     = len(render.EventClock)
	whatWidth     = len("cancel requested")
	scheduleWidth = 18
	nominalWidth  = len("15:04:05")
	lateWidth     = len("9999.9 ms")

	clockFormat = "15:04:05"
)

// Config says how to show events. Out and Zone are required.
type Config struct {
	Out io.Writer
	// Zone is the zone of all times shown.
	Zone *time.Location
	// Color says that Out may be coloured.
	Color bool
	// Started is when the process began. Actions that were due before count as caught up.
	Started time.Time
}

// View writes events as lines.
type View struct {
	config  Config
	catchUp map[string]*catchUp // by schedule
	current map[string]bool     // schedules that have come to actions due after the process began
	seen    recent
}

// NewView returns a view that has shown nothing yet.
func NewView(config Config) *View {
	return &View{config: config, catchUp: map[string]*catchUp{}, current: map[string]bool{}}
}

// Header writes the names of the columns.
func (v *View) Header() {
	v.line(render.Dim, columns{"TIME", "WHAT", "SCHEDULE", "NOMINAL", "LATE", ""})
}

// Event shows an event, unless it is a repeat or will be summed up later.
func (v *View) Event(e schedule.Event) {
	if !v.seen.add(e.ID) {
		return
	}
	if v.isCaughtUp(e) && !v.trackCatchUp(e) {
		return
	}
	v.line(render.EventColor(&e), v.columns(e))
}

// columns are the cells of one line.
type columns struct{ time, what, schedule, nominal, late, detail string }

func (v *View) columns(e schedule.Event) columns {
	c := columns{
		time: e.Time.In(v.config.Zone).Format(render.EventClock), what: v.what(e), schedule: e.ScheduleID,
		nominal: "-", detail: render.EventDetail(&e, v.config.Zone),
	}
	if !e.Nominal.IsZero() {
		c.nominal = e.Nominal.In(v.config.Zone).Format(clockFormat)
	}
	if late, ok := render.EventLateness(&e); ok {
		c.late = render.Millis(late)
	}
	return c
}

func (v *View) what(e schedule.Event) string {
	if e.Kind == schedule.EventCompleted && e.Status == schedule.StatusCompleted && v.isCaughtUp(e) {
		return "caught up"
	}
	return render.EventWord(&e)
}

// line writes one line. The colour is for the word that says what happened.
func (v *View) line(color render.Color, c columns) {
	what := render.Pad(c.what, whatWidth)
	if v.config.Color {
		what = color.Paint(what)
	}
	text := fmt.Sprintf("%s  %s  %s  %s  %*s  %s",
		render.Pad(c.time, timeWidth), what, render.Pad(render.Shorten(c.schedule, scheduleWidth), scheduleWidth),
		render.Pad(c.nominal, nominalWidth), lateWidth, c.late, c.detail)
	_, _ = fmt.Fprintln(v.config.Out, strings.TrimRight(text, " "))
}
