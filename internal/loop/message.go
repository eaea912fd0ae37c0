package loop

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
}

// Verdict says what becomes of the messages of a group.
type Verdict struct {
	until time.Time
	err   error
}

// Done acknowledges the group.
func Done() Verdict { return Verdict{} }

// Hold keeps the group unacknowledged and handles it again at the given time, or earlier, together with the next message
// for its schedule.
func Hold(until time.Time) Verdict { return Verdict{until: until} }

// Retry gives the group back for a later attempt, by this or another process. Errors made by [Permanent] count: after
// Config.MaxDeliveries the message goes to the dead letter stream.
func Retry(err error) Verdict { return Verdict{err: err} }

// Permanent marks an error that another attempt is unlikely to cure.
func Permanent(err error) error { return permanentError{err} }

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func isPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

// item is a message in the hands of the loop.
type item[M any] struct {
	Message[M]
	raw     jetstream.Msg
	touched time.Time // when the server last heard about it
}
