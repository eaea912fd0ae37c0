package readable

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Lane is a line of a timeline: one activity, timer, child or other piece of work; or all workflow tasks; or all that came from outside.
type Lane struct {
	// Label says what it is. It has what users chose.
	Label string
	Bars  []Bar
}

// Bar is a piece of work from when it was scheduled until its end, or a moment.
type Bar struct {
	// Word says what came of it, and Kind is the colour: good, bad, warn, busy or quiet.
	Word, Kind string
	// Event is the ID of the event that began it, or of the first one that is known.
	Event int64
	// Start is when it was scheduled, Began when somebody began with it, and End its end. Zero: not known, or not yet.
	Start, Began, End time.Time
	// Attempt is that of a piece of work that was tried more than once; otherwise 0.
	Attempt int32
	// IsMoment says that it takes no time.
	IsMoment bool
}

// The lanes that have many bars.
const (
	laneTasks   = "workflow tasks"
	laneOutside = "signals, updates and cancellations"
	laneOwn     = "markers and attributes"
)

// Lanes returns the timeline of consecutive events, in the order of their IDs. A bar whose beginning is not among them begins at the zero time; one whose end
// is not among them has none.
func Lanes(events []*history.HistoryEvent) []Lane {
	drawn := drawing{lanes: map[string]*Lane{}, work: map[int64]*Lane{}}
	for _, e := range events {
		drawn.draw(e)
	}
	lanes := make([]Lane, 0, len(drawn.order))
	for _, lane := range drawn.order {
		lanes = append(lanes, *lane)
	}
	return lanes
}

// Subjects says, by the IDs of events, what those are about that go on with a piece of work which another one of them has begun: an activity, a timer, a child.
func Subjects(events []*history.HistoryEvent) map[int64]string {
	begun, subjects := map[int64]string{}, map[int64]string{}
	for _, e := range events {
		if name := e.GetEventType().String(); beginningOf(e) == 0 && isBeginning(name) {
			begun[e.GetEventId()] = labelOf(e, name)
		}
	}
	for _, e := range events {
		if label := begun[beginningOf(e)]; label != "" {
			subjects[e.GetEventId()] = label
		}
	}
	return subjects
}

// isBeginning reports whether an event with a name begins a piece of work.
func isBeginning(name string) bool {
	return strings.HasSuffix(name, "Scheduled") || strings.HasSuffix(name, "Initiated") || name == "TimerStarted" || name == "WorkflowExecutionUpdateAccepted"
}

// drawing is a timeline in the making.
type drawing struct {
	order []*Lane
	// lanes are those with many bars, by label, and work those with one, by the ID of the event that scheduled it.
	lanes map[string]*Lane
	work  map[int64]*Lane
}

// draw adds an event.
func (d *drawing) draw(e *history.HistoryEvent) {
	name := e.GetEventType().String()
	switch {
	case strings.HasPrefix(name, "WorkflowTask"):
		d.task(e, name)
	case beginningOf(e) != 0:
		d.goesOn(e, name)
	case isBeginning(name):
		d.begins(e, name)
	case strings.HasPrefix(name, "WorkflowExecution"):
		d.outside(e, name)
	default:
		d.moment(laneOwn, e, name, "quiet")
	}
}

// outside adds an event that came from outside, or the beginning or end of the run.
func (d *drawing) outside(e *history.HistoryEvent, name string) {
	switch name = strings.TrimPrefix(name, "WorkflowExecution"); name {
	case "Started", "Completed", "Failed", "Canceled", "Terminated", "TimedOut", "ContinuedAsNew":
		lane := d.shared("workflow")
		if len(lane.Bars) == 0 {
			lane.Bars = []Bar{{Event: e.GetEventId()}}
		}
		if name == "Started" {
			lane.Bars[0] = Bar{Word: "running", Kind: "busy", Event: e.GetEventId(), Start: timeOf(e)}
			return
		}
		bar := &lane.Bars[0]
		bar.End, bar.Word, bar.Kind = timeOf(e), wordOf(name), kindOfWord(wordOf(name))
	default:
		d.moment(laneOutside, e, cmp.Or(stringField(e, "signal_name"), name), "busy")
	}
}

func (d *drawing) shared(label string) *Lane {
	lane := d.lanes[label]
	if lane == nil {
		lane = &Lane{Label: label}
		d.lanes[label] = lane
		d.order = append(d.order, lane)
	}
	return lane
}

func (d *drawing) moment(lane string, e *history.HistoryEvent, word, kind string) {
	to := d.shared(lane)
	to.Bars = append(to.Bars, Bar{Word: word, Kind: kind, Event: e.GetEventId(), Start: timeOf(e), IsMoment: true})
}

// task adds an event of a workflow task. All of them are in one lane, because one ends before the next one is scheduled.
func (d *drawing) task(e *history.HistoryEvent, name string) {
	lane := d.shared(laneTasks)
	if name == "WorkflowTaskScheduled" || len(lane.Bars) == 0 {
		lane.Bars = append(lane.Bars, Bar{Word: "scheduled", Kind: "busy", Event: e.GetEventId()})
		if name == "WorkflowTaskScheduled" {
			lane.Bars[len(lane.Bars)-1].Start = timeOf(e)
			return
		}
	}
	ends(&lane.Bars[len(lane.Bars)-1], e, strings.TrimPrefix(name, "WorkflowTask"))
}

// begins adds a piece of work.
func (d *drawing) begins(e *history.HistoryEvent, name string) {
	lane := &Lane{Label: labelOf(e, name), Bars: []Bar{{Word: "scheduled", Kind: "busy", Event: e.GetEventId(), Start: timeOf(e)}}}
	d.work[e.GetEventId()] = lane
	d.order = append(d.order, lane)
}

// goesOn adds what became of a piece of work, which may have been scheduled before the first event.
func (d *drawing) goesOn(e *history.HistoryEvent, name string) {
	lane := d.work[beginningOf(e)]
	if lane == nil {
		lane = &Lane{Label: labelOf(e, name), Bars: []Bar{{Event: e.GetEventId()}}}
		d.work[beginningOf(e)] = lane
		d.order = append(d.order, lane)
	}
	ends(&lane.Bars[0], e, name)
}

// ends notes that somebody began with a piece of work, or how it ended.
func ends(bar *Bar, e *history.HistoryEvent, name string) {
	word := wordOf(name)
	switch word {
	case "started":
		bar.Began = timeOf(e)
		if attempt := intField(e, "attempt"); attempt > 1 {
			bar.Attempt = int32(min(attempt, 1<<30))
		}
		if bar.End.IsZero() {
			bar.Word, bar.Kind = word, "busy"
		}
	case "cancel requested":
		bar.Word, bar.Kind = "asked to cancel", "warn"
	case name: // it changes what is under way, and says nothing about its end
	default:
		bar.End, bar.Word, bar.Kind = timeOf(e), word, kindOfWord(word)
	}
}

// words are how the names of events end, and what they mean.
var words = []struct{ suffix, word, kind string }{
	{"CancelRequestCompleted", "completed", "good"}, {"CancelRequestFailed", "failed", "bad"},
	{"ExternalWorkflowExecutionCancelRequested", "completed", "good"}, {"CancelRequested", "cancel requested", "warn"},
	{"Started", "started", "busy"}, {"Completed", "completed", "good"}, {"Fired", "fired", "good"}, {"Signaled", "completed", "good"},
	{"Failed", "failed", "bad"}, {"TimedOut", "timed out", "bad"}, {"Terminated", "terminated", "bad"}, {"Rejected", "rejected", "bad"},
	{"Canceled", "canceled", "warn"}, {"ContinuedAsNew", "continued as new", "good"},
}

func wordOf(name string) string {
	for _, w := range words {
		if strings.HasSuffix(name, w.suffix) {
			return w.word
		}
	}
	return name
}

func kindOfWord(word string) string {
	for _, w := range words {
		if w.word == word || w.suffix == word {
			return w.kind
		}
	}
	return "quiet"
}

// references are the fields by which an event names the one that began its piece of work.
var references = map[string]protoreflect.Name{
	"Activity": "scheduled_event_id", "Nexus": "scheduled_event_id", "Timer": "started_event_id", "Child": "initiated_event_id",
	"StartChild": "initiated_event_id", "External": "initiated_event_id", "SignalExternal": "initiated_event_id",
	"RequestCancelExternal": "initiated_event_id", "WorkflowExecutionUpdate": "accepted_event_id",
}

// beginningOf returns the ID of the event that began the piece of work of an event; 0 if the event does not belong to one, or begins it.
func beginningOf(e *history.HistoryEvent) int64 {
	name, longest := e.GetEventType().String(), ""
	for prefix := range references {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	if longest == "" {
		return 0
	}
	return intField(e, references[longest])
}

// labels are the fields that say what a piece of work is, and the word before them. The first one that an event has counts.
var labels = []struct {
	word  string
	field []protoreflect.Name
}{
	{"activity", []protoreflect.Name{"activity_type", "name"}},
	{"timer", []protoreflect.Name{"timer_id"}},
	{"child", []protoreflect.Name{"workflow_type", "name"}},
	{"update", []protoreflect.Name{"accepted_request", "input", "name"}},
	{"signal to", []protoreflect.Name{"workflow_execution", "workflow_id"}},
	{"update", []protoreflect.Name{"meta", "update_id"}},
	{"operation", []protoreflect.Name{"operation"}},
}

// labelOf says what a piece of work is.
func labelOf(e *history.HistoryEvent, name string) string {
	for _, label := range labels {
		m := attributesOf(e)
		if m == nil {
			break
		}
		if text := at(m, label.field); text != "" {
			if strings.HasPrefix(name, "RequestCancelExternal") || strings.HasPrefix(name, "ExternalWorkflowExecutionCancel") {
				label.word = "cancel"
			}
			text, _ = Cut(text, 60)
			return label.word + " " + text
		}
	}
	kind, _, _ := strings.Cut(name, "Task")
	return strings.ToLower(kind) + ", scheduled before"
}

// at returns the text at a path of fields; empty if there is none.
func at(m protoreflect.Message, path []protoreflect.Name) string {
	field := m.Descriptor().Fields().ByName(path[0])
	switch {
	case field == nil || !m.Has(field) || field.IsList() || field.IsMap():
		return ""
	case len(path) > 1 && field.Kind() == protoreflect.MessageKind:
		return at(m.Get(field).Message(), path[1:])
	case len(path) > 1:
		return ""
	}
	return m.Get(field).String()
}

func stringField(e *history.HistoryEvent, name protoreflect.Name) string {
	if m := attributesOf(e); m != nil {
		return at(m, []protoreflect.Name{name})
	}
	return ""
}

func intField(e *history.HistoryEvent, name protoreflect.Name) int64 {
	m := attributesOf(e)
	if m == nil {
		return 0
	}
	field := m.Descriptor().Fields().ByName(name)
	if field == nil || !slices.Contains([]protoreflect.Kind{protoreflect.Int64Kind, protoreflect.Int32Kind}, field.Kind()) {
		return 0
	}
	return m.Get(field).Int()
}

func timeOf(e *history.HistoryEvent) time.Time { return e.GetEventTime().AsTime() }
