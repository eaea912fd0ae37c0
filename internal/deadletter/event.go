package deadletter

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// traceparent is the header of the W3C trace context.
const traceparent = "traceparent"

// Event returns the event of a letter made by [New]: a message about a schedule could not be processed. It returns false if the
// message does not say which schedule it is about. If a letter is made again, its event has the same ID.
func Event(names subjects.Names, letter *nats.Msg, at time.Time) (schedule.Event, bool) {
	origin := originOf(letter.Header)
	about := meaningOf(names, origin.Subject, letter.Data)
	event := eventOf(schedule.EventDeadLetter, origin, about, at)
	event.Reason, event.Trace = letter.Header.Get(HeaderReason), traceOf(letter.Header)
	return event, about.key.ID != "" && !about.ofWorkflow()
}

// replayedEvent returns the event that a letter has been sent again.
func replayedEvent(m *Message, about meaning, identity string, at time.Time) schedule.Event {
	event := eventOf(schedule.EventReplayed, m.Origin, about, at)
	event.Reason, event.Identity = "was a dead letter: "+m.Reason, identity
	event.Trace = traceOf(m.Headers)
	return event
}

// traceOf returns the trace context of a message. It ignores one that is longer than a trace context can be, because workers
// write it.
func traceOf(header nats.Header) string {
	const longest = 64
	if trace := header.Get(traceparent); len(trace) <= longest {
		return trace
	}
	return ""
}

func eventOf(kind schedule.EventKind, origin Origin, about meaning, at time.Time) schedule.Event {
	return schedule.Event{
		ID: string(kind) + "-" + origin.id(), Kind: kind, Time: at.UTC(),
		Namespace: about.key.Namespace, ScheduleID: about.key.ID, RequestID: about.requestID,
	}
}

// id identifies the message among all messages that ever were in the streams of the installation.
func (o Origin) id() string { return o.Stream + "-" + strconv.FormatUint(o.Sequence, 10) }
