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

// Event is what the history of a schedule says about a letter made by [New]: that a message about the schedule could not
// be processed. It is false when the message does not say which schedule it is about. A letter that is made again has an
// event of the same ID.
func Event(names subjects.Names, letter *nats.Msg, at time.Time) (schedule.Event, bool) {
	origin := originOf(letter.Header)
	about := meaningOf(names, origin.Subject, letter.Data)
	event := eventOf(schedule.EventDeadLetter, origin, about, at)
	event.Reason, event.Trace = letter.Header.Get(HeaderReason), traceOf(letter.Header)
	return event, about.key.ID != ""
}

// replayedEvent says that a letter has been sent again.
func replayedEvent(m *Message, about meaning, identity string, at time.Time) schedule.Event {
	event := eventOf(schedule.EventReplayed, m.Origin, about, at)
	event.Reason, event.Identity = "was a dead letter: "+m.Reason, identity
	event.Trace = traceOf(m.Headers)
	return event
}

// traceOf returns the trace context of a message, unless it is longer than one can be: workers write it.
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

// id names the message among all that ever were in the streams of the installation.
func (o Origin) id() string { return o.Stream + "-" + strconv.FormatUint(o.Sequence, 10) }
