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
	timeWidth     = len("15:04:05.000")
	whatWidth     = len("cancel requested")
	scheduleWidth = 18
	nominalWidth  = len("15:04:05")
	lateWidth     = len("9999.9 ms")

	clockFormat  = "15:04:05"
	eventsFormat = "15:04:05.000"
)

// Config says how to show events. Out and Zone are required.
type Config struct {
	Out io.Writer
	// Zone is the zone of all times shown.
	Zone *time.Location
	// Color says that Out may be coloured.
	Color bool
	// Started is when the process began: what was due before is caught up.
	Started time.Time
}

// View writes events as lines.
type View struct {
	config  Config
	catchUp map[string]*catchUp // by schedule
	current map[string]bool     // schedules that have come to actions due since the process began
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

// Event shows an event, unless it is a repeat or one of many that are summed up later.
func (v *View) Event(e schedule.Event) {
	if !v.seen.add(e.ID) {
		return
	}
	if v.isCaughtUp(e) && !v.trackCatchUp(e) {
		return
	}
	v.line(colorOf(e), v.columns(e))
}

// columns are the cells of one line.
type columns struct{ time, what, schedule, nominal, late, detail string }

func (v *View) columns(e schedule.Event) columns {
	c := columns{
		time: e.Time.In(v.config.Zone).Format(eventsFormat), what: v.what(e), schedule: e.ScheduleID,
		nominal: "-", detail: detail(e),
	}
	if !e.Nominal.IsZero() {
		c.nominal = e.Nominal.In(v.config.Zone).Format(clockFormat)
	}
	if began := beganAt(e); !began.IsZero() && !e.Actual.IsZero() {
		c.late = render.Millis(began.Sub(e.Actual))
	}
	return c
}

// beganAt is the moment whose lateness a line shows: the event itself on the way to the worker, and the first
// instruction of the worker's code once that is known.
func beganAt(e schedule.Event) time.Time {
	switch e.Kind {
	case schedule.EventBuffered, schedule.EventStarted:
		return e.Time
	case schedule.EventCompleted:
		return e.CodeTime
	}
	return time.Time{}
}

// words are the kinds of event whose name is not the word to show.
var words = map[schedule.EventKind]string{
	schedule.EventBuffered:        "due",
	schedule.EventDeferred:        "waiting",
	schedule.EventCancelRequested: "cancel requested",
}

func (v *View) what(e schedule.Event) string {
	word, ok := words[e.Kind]
	switch {
	case e.Kind == schedule.EventBuffered && e.Manual:
		return "requested"
	case e.Kind == schedule.EventCompleted && e.Status != schedule.StatusCompleted:
		return strings.ReplaceAll(string(e.Status), "_", " ")
	case e.Kind == schedule.EventCompleted && v.isCaughtUp(e):
		return "caught up"
	case !ok:
		return string(e.Kind)
	}
	return word
}

// detail is the free text at the end of a line.
func detail(e schedule.Event) string {
	var parts []string
	if e.Kind == schedule.EventCompleted {
		if !e.CodeTime.IsZero() {
			parts = append(parts, "took "+render.Millis(e.CloseTime.Sub(e.CodeTime)))
		}
		if e.Attempt > 1 {
			parts = append(parts, fmt.Sprintf("attempt %d", e.Attempt))
		}
	}
	if e.Count > 1 {
		parts = append(parts, fmt.Sprintf("%d actions", e.Count))
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	return strings.Join(parts, ", ")
}

func colorOf(e schedule.Event) render.Color {
	switch e.Kind {
	case schedule.EventBuffered:
		return render.Blue
	case schedule.EventStarted:
		return render.Plain
	case schedule.EventCompleted:
		if e.Status == schedule.StatusCompleted {
			return render.Green
		}
		return render.Red
	case schedule.EventMissed, schedule.EventDropped, schedule.EventTerminated:
		return render.Red
	case schedule.EventSkipped, schedule.EventDeferred, schedule.EventRetried, schedule.EventCancelRequested:
		return render.Yellow
	}
	return render.Dim
}

// line writes one line; the colour is that of the word that says what happened.
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
