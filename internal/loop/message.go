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
	// Task is parsed from the subject.
	Task subjects.Task
	// Body is what the handler decoded.
	Body M
	// Header holds the headers; do not change it.
	Header nats.Header
	// Stored is when the stream stored the message.
	Stored time.Time
	// Deliveries counts the deliveries of the message, including this one.
	Deliveries uint64
	// Held says that the handler has had the message before and asked to hold it.
	Held bool
	// Shared says that another process may have the message too: it was delivered before, or this process stood still for so long that it
	// was delivered again. The other process may acknowledge it at any time.
	Shared bool
	// Gone says that the stream no longer has any message of the group: another process has acknowledged them. Holding the message is then
	// useless, because it would not wake another process if this one died.
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

// Hold keeps the newest stored message of the group unacknowledged. The handler gets it again at the given time, or earlier with the next
// message for its schedule. The other messages are acknowledged: one is enough to wake the schedule again if the process dies, and a
// schedule that is always held must not collect all messages that ever came for it. So a handler may hold only if it has done what its
// messages ask for. If the stream no longer has any of several messages, they are handled again at once, with the newest marked as Gone.
func Hold(until time.Time) Verdict { return Verdict{until: until} }

// Rest acknowledges the group, and lets messages that may wait collect until the given time: see [Patient]. It is for schedules whose
// transitions are expensive, if one transition for many messages costs little more.
func Rest(until time.Time) Verdict { return Verdict{rest: until} }

// GiveBack gives the group back at once, for this or another process. It is for held messages whose work another process has done. That
// process may hold the same message; to acknowledge it would remove what wakes a third process if that one dies.
func GiveBack() Verdict { return Verdict{back: true} }

// IsHold reports whether Hold made a verdict.
func (v Verdict) IsHold() bool { return !v.until.IsZero() }

// Err returns the error of [Retry]; nil for other verdicts.
func (v Verdict) Err() error { return v.err }

// Retry gives the group back for a later attempt, by this or another process. Only permanent errors count: after Config.MaxDeliveries, the
// message goes to the dead letter stream. An error is permanent if [permanent] made it, or if it says that stored data cannot be read or is
// not valid. Before an error counts, each message of the group is handled alone, so that one bad message does not take the others with it.
func Retry(err error) Verdict { return Verdict{err: err} }

// permanent marks an error that another attempt is unlikely to fix.
func permanent(err error) error { return permanentError{err} }

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func isPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p) || errors.Is(err, codec.ErrFormat) || schedule.CodeOf(err) == schedule.CodeInvalidArgument
}

// item is a message that the loop has.
type item[M any] struct {
	Message[M]
	raw jetstream.Msg
	place
	touched time.Time // when the server last heard about it
	acked   bool
}

// share notes whether another process may have the message too.
func (it *item[M]) share(now time.Time) {
	it.Shared = it.Shared || it.Deliveries > 1 || now.Sub(it.touched) > subjects.TaskAckWait
}

// place is where a message is stored. Newer messages of a stream have higher sequences.
type place struct {
	stream   string
	sequence uint64
}
