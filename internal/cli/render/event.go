package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// EventClock is the layout for an event of today, EventMoment the layout for an event of any day.
	EventClock  = "15:04:05.000"
	EventMoment = "2006-01-02 15:04:05.000"

	// eventScheduleWidth is the width for an ID. A longer ID pushes the rest of its line to the right.
	eventScheduleWidth = 18
	// outcomeWidth is how many characters of a result, or of a failure, fit into a line.
	outcomeWidth = 120
)

// The widths of the other columns, in characters.
var (
	eventWhatWidth = len("backfill requested")
	eventLateWidth = len("9999.9 ms")
)

// EventLines says how to write events as lines. Layout and Zone are required.
type EventLines struct {
	// Layout is EventClock or EventMoment.
	Layout string
	// Zone is the zone of all times.
	Zone *time.Location
	// Schedule says that the events are about several schedules, so each line names its schedule.
	Schedule bool
	// Wide adds the names that programs use: the IDs of the run, the request and the source, and the trace.
	Wide bool
	// Color says that the output may have colours.
	Color bool
}

// Header is the line above the events. It names the zone as it is called at the given moment.
func (l EventLines) Header(at time.Time) string {
	title := "TIME (" + at.In(l.Zone).Format("MST") + ")"
	return View{Color: l.Color}.paint(Dim, l.join(title, "WHAT", "SCHEDULE", "NOMINAL", "LATE", ""))
}

// Line writes one event.
func (l EventLines) Line(e *schedule.Event) string {
	nominal, late := "-", ""
	if !e.Nominal.IsZero() {
		nominal = e.Nominal.In(l.Zone).Format(time.DateTime)
	}
	if d, ok := EventLateness(e); ok {
		late = Millis(d)
	}
	detail := EventDetail(e, l.Zone)
	if l.Wide {
		detail = joinFilled("  ", detail, eventNames(e))
	}
	line := l.join(e.Time.In(l.Zone).Format(l.Layout), EventWord(e), Printable(e.ScheduleID), nominal, late, detail)
	if !l.Color {
		return line
	}
	// Paint only the word that says what happened. It is the first of its kind after the time.
	return strings.Replace(line, columnGap+EventWord(e), columnGap+EventColor(e).Paint(EventWord(e)), 1)
}

func (l EventLines) join(at, what, scheduleID, nominal, late, detail string) string {
	cells := []string{Pad(at, len(l.Layout)), Pad(what, eventWhatWidth)}
	if l.Schedule {
		cells = append(cells, Pad(scheduleID, eventScheduleWidth))
	}
	cells = append(cells, Pad(nominal, len(time.DateTime)), fmt.Sprintf("%*s", eventLateWidth, late), detail)
	return strings.TrimRight(strings.Join(cells, columnGap), " ")
}

// EventLateness is how late a start was. For a started event, it is measured when the run goes to the worker. For a completed event, it is
// measured at the first instruction of the worker's code, if that is known. For other events, the second result is false.
func EventLateness(e *schedule.Event) (time.Duration, bool) {
	began := e.Time
	switch e.Kind {
	case schedule.EventStarted:
	case schedule.EventCompleted:
		began = e.CodeTime
	default:
		return 0, false
	}
	if began.IsZero() || e.Actual.IsZero() {
		return 0, false
	}
	return began.Sub(e.Actual), true
}

// eventWords has the kinds of event that are not shown under their own name.
var eventWords = map[schedule.EventKind]string{
	schedule.EventDeferred:   "waiting",
	schedule.EventRetried:    "start failed",
	schedule.EventTerminated: "terminating",
}

// EventWord says in a word or two what happened.
func EventWord(e *schedule.Event) string {
	word, ok := eventWords[e.Kind]
	switch {
	case e.Kind == schedule.EventCompleted && e.Status != "":
		word = string(e.Status)
	case !ok:
		word = string(e.Kind)
	}
	return Printable(strings.ReplaceAll(word, "_", " "))
}

// EventColor is the colour of the word: green for success, red for failure, yellow for what has to wait or gives way.
func EventColor(e *schedule.Event) Color {
	switch e.Kind {
	case schedule.EventStarted:
		return Blue
	case schedule.EventCompleted:
		return statusColor(e.Status)
	case schedule.EventMissed, schedule.EventDropped, schedule.EventTerminated, schedule.EventNoWorker,
		schedule.EventDeadLetter, schedule.EventBulkFailed:
		return Red
	case schedule.EventSkipped, schedule.EventDeferred, schedule.EventRetried, schedule.EventCancelRequested:
		return Yellow
	}
	return Dim
}

func statusColor(status schedule.Status) Color {
	switch status {
	case "":
		return Plain
	case schedule.StatusCompleted:
		return Green
	}
	return Red
}

// EventDetail writes in one line what is known of an event besides its word. Times are in the given zone.
func EventDetail(e *schedule.Event, zone *time.Location) string {
	return joinFilled(", ", took(e.CodeTime, e.CloseTime), attemptText(e.Attempt), outcomeText(&e.Outcome),
		howMany(e, zone), reasonOf(e), policyOf(e), workflowOf(e), sourceOf(e), whoAsked(e))
}

// took says how long the worker's code ran; it is empty if that is not known.
func took(began, ended time.Time) string {
	if began.IsZero() || ended.IsZero() {
		return ""
	}
	return "took " + Millis(ended.Sub(began))
}

// attemptText says with which attempt of the worker a run ended, unless it was the first.
func attemptText(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf("attempt %d", attempt)
}

// outcomeText says how a run turned out, shortened to fit into a line. It is empty if there is nothing to say.
func outcomeText(o *schedule.Outcome) string {
	switch {
	case o.Failure != nil:
		return failureText(o.Failure)
	case len(o.Result) > 0 && string(o.Result) != "null":
		return Shorten("result "+oneLine(string(o.Result)), outcomeWidth)
	case o.ResultBytes > len("null"):
		return fmt.Sprintf("result of %d bytes", o.ResultBytes)
	}
	return ""
}

func failureText(f *schedule.Failure) string {
	text := Shorten(oneLine(f.Message), outcomeWidth)
	if f.Type != "" && !strings.HasPrefix(text, f.Type) { // some messages already begin with it
		text = joinFilled(" ", text, "("+oneLine(f.Type)+")")
	}
	return text
}

// howMany says how many actions or times an event stands for, and which. For a requested backfill, only the range is known.
func howMany(e *schedule.Event, zone *time.Location) string {
	from, to := e.First.In(zone).Format(time.DateTime), e.Last.In(zone).Format(time.DateTime)
	times := from + " to " + to
	if from == to {
		times = from
	}
	switch {
	case e.Count == 0 && e.First.IsZero():
		return ""
	case e.Count == 0:
		return times
	case e.First.IsZero():
		return counted(e.Count, countWord(e.Kind))
	}
	return counted(e.Count, countWord(e.Kind)) + " of " + times
}

// countWord says what the events of a kind count.
func countWord(kind schedule.EventKind) string {
	switch kind {
	case schedule.EventNoWorker:
		return "run"
	case schedule.EventBackfillCompleted, schedule.EventBackfillCanceled, schedule.EventSkipRequested,
		schedule.EventUnskipped:
		return "time"
	}
	return "action"
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// reasonOf returns the reason, unless the failure contains it already.
func reasonOf(e *schedule.Event) string {
	if e.Failure != nil && strings.Contains(e.Reason, e.Failure.Message) {
		return ""
	}
	return oneLine(e.Reason)
}

// policyOf names the overlap policy that decided, unless the reason names it.
func policyOf(e *schedule.Event) string {
	policy := string(e.Overlap)
	if policy == "" || strings.Contains(e.Reason, policy) {
		return ""
	}
	return "overlap policy " + oneLine(policy)
}

// workflowOf names the run that has begun or is to end. Later lines identify the run by its nominal time.
func workflowOf(e *schedule.Event) string {
	switch e.Kind {
	case schedule.EventStarted, schedule.EventCancelRequested, schedule.EventTerminated:
		return oneLine(e.WorkflowID)
	}
	return ""
}

// aboutSource are the kinds of event about a trigger or backfill itself.
var aboutSource = []schedule.EventKind{
	schedule.EventTriggered, schedule.EventBackfillRequested, schedule.EventBackfillCompleted, schedule.EventBackfillCanceled,
}

// sourceOf names a trigger or backfill in the form that cancel-backfill takes.
func sourceOf(e *schedule.Event) string {
	if e.Source == "" || !slices.Contains(aboutSource, e.Kind) {
		return ""
	}
	return "as " + oneLine(e.Source)
}

// whoAsked says who requested something. All events of a start carry that name, but it is enough in the line about the request. If somebody
// ends a run by hand, the name is that person's, so the line shows it.
func whoAsked(e *schedule.Event) string {
	endedByHand := e.Overlap == "" && (e.Kind == schedule.EventCancelRequested || e.Kind == schedule.EventTerminated)
	if e.Identity == "" || !e.Nominal.IsZero() && !endedByHand {
		return ""
	}
	return "by " + oneLine(e.Identity)
}

// eventNames returns the names in an event that EventDetail leaves out.
func eventNames(e *schedule.Event) string {
	var parts []string
	for _, pair := range [][2]string{
		{"request", e.RequestID}, {"workflow", e.WorkflowID}, {"run", e.RunID}, {"source", e.Source},
		{"queue", e.TaskQueue}, {"worker", e.Worker}, {"trace", e.Trace}, {"event", e.ID},
	} {
		if pair[1] != "" {
			parts = append(parts, pair[0]+"="+oneLine(pair[1]))
		}
	}
	return strings.Join(parts, " ")
}

// joinFilled joins the texts that are not empty.
func joinFilled(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), separator)
}

// oneLine makes any text safe to show in one line.
func oneLine(text string) string { return Printable(strings.Join(strings.Fields(text), " ")) }
