package loop

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Message is one task of a group.
type Message[M any] struct {
	// Task is what the subject says.
	Task subjects.Task
	// Body is what the handler decoded.
	Body M
	// Header holds the headers; do not change it.
	Header nats.Header
	// Stored is when the stream took the message.
	Stored time.Time
	// Deliveries counts the deliveries of the message, this one included.
	Deliveries uint64
	// Held says that the handler has had the message before, and asked to hold it.
	Held bool
	// Shared says that another process may have the message, too: it has been delivered before, or this process stood still for so
	// long that it has been delivered again. The other may acknowledge it at any time.
	Shared bool
	// Gone says so where the stream has no message of the group any more: another process has acknowledged them. To hold it would
	// be of no use to anybody should this process die.
	Gone bool
}

// Verdict says what becomes of the messages of a group.
type Verdict struct {
	until time.Time
	rest  time.Time
	back  bool
	err   error
}

// Done acknowledges the group.
func Done() Verdict { return Verdict{} }

// Hold keeps the newest stored message of the group unacknowledged, and handles it again at the given time or earlier, together
// with the next message for its schedule. The others are acknowledged: one is enough to be woken again should the
// process die, and a schedule that is always held must not gather all that ever came for it. So only a handler that has
// done what its messages ask for may hold. If the stream has none of several messages any more, they are handled again at once, the newest
// as Gone.
func Hold(until time.Time) Verdict { return Verdict{until: until} }

// Rest acknowledges the group, and lets messages that may wait gather until the given time: see [Patient]. It is for
// schedules where each transition is dear, and one for many messages costs hardly more.
func Rest(until time.Time) Verdict { return Verdict{rest: until} }

// GiveBack gives the group back at once, for this or another process. It is for messages that have been held, where another
// process has done the work: it may be the same message that it holds, and to acknowledge it would take away what wakes
// somebody else should that process die.
func GiveBack() Verdict { return Verdict{back: true} }

// IsHold reports whether Hold made a verdict.
func (v Verdict) IsHold() bool { return !v.until.IsZero() }

// Err returns the error of [Retry], nil for other verdicts.
func (v Verdict) Err() error { return v.err }

// Retry gives the group back for a later attempt, by this or another process. Permanent errors count: after
// Config.MaxDeliveries the message goes to the dead letter stream. An error is permanent if [permanent] made it, or if it
// says that what is stored cannot be read or is not valid. Before that counts, each message of a group is handled alone,
// so that one which cannot be handled does not take others along.
func Retry(err error) Verdict { return Verdict{err: err} }

// permanent marks an error that another attempt is unlikely to cure.
func permanent(err error) error { return permanentError{err} }

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func isPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p) || errors.Is(err, codec.ErrFormat) || schedule.CodeOf(err) == schedule.CodeInvalidArgument
}

// item is a message in the hands of the loop.
type item[M any] struct {
	Message[M]
	raw jetstream.Msg
	place
	touched time.Time // when the server last heard about it
	acked   bool
}

// share notes that another process may have the message, too, if that is so.
func (it *item[M]) share(now time.Time) {
	it.Shared = it.Shared || it.Deliveries > 1 || now.Sub(it.touched) > subjects.TaskAckWait
}

// place is where a message is stored. Newer messages of a stream have higher sequences.
type place struct {
	stream   string
	sequence uint64
}
