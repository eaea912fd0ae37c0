package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Run is one attempt to execute an action, as its handler sees it. It must not be modified.
type Run struct {
	// ActionRequest is the request as it was sent. RequestID is the idempotency key; NominalTime and DueTime say what
	// the run is for, LastSuccess and LastFailure how earlier runs of the schedule ended.
	schedule.ActionRequest
	// Attempt counts the attempts, from 1. A delivery that nobody answered counts as one.
	Attempt int
	// LastHeartbeat are the details of the newest heartbeat that an earlier attempt has recorded, as far as that is known;
	// see [Heartbeat].
	LastHeartbeat json.RawMessage

	log  *slog.Logger
	beat func(details any)
}

// Decode reads the input into a value. Without an input the value stays as it is. The error is not retryable.
func (r *Run) Decode(into any) error {
	if len(r.Input) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Input, into); err != nil {
		return InvalidInput("the input does not fit action type %q: %s", r.Type, misfit(err))
	}
	return nil
}

// InvalidInput makes the error of a handler that cannot use its input, of type TypeInvalidInput. It is not retryable.
func InvalidInput(format string, args ...any) *Error {
	return &Error{Type: TypeInvalidInput, Message: fmt.Sprintf(format, args...), NonRetryable: true}
}

// Handler executes the runs of one action type. It returns a result that can be written as JSON in MaxResultBytes, or
// nil for none, or an error; see [Error] and [NonRetryable] for how errors are told apart. A panic is an error of type
// TypePanic. Handlers are called concurrently.
type Handler func(ctx context.Context, run *Run) (any, error)

type runKey struct{}

// FromContext returns the run a handler's context belongs to. It reports false for any other context.
func FromContext(ctx context.Context) (*Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	return run, ok
}

// Logger returns the worker's logger with the attributes that identify the run, for the handler that ctx belongs to. For any
// other context it is slog.Default().
func Logger(ctx context.Context) *slog.Logger {
	run, ok := FromContext(ctx)
	if !ok || run.log == nil {
		return slog.Default()
	}
	return run.log.With(append(runAttrs(&run.ActionRequest), keyAttempt, run.Attempt)...)
}

// Heartbeat is a sign of life: if the action has a heartbeat timeout, the time starts anew. It also extends the lease on
// the run at once, and records details about its progress, any value that can be written as JSON in 64 KiB, as they are
// at this moment; nil leaves those recorded before. If the attempt fails without details of its own, its failure bears the
// last ones recorded, and if there is another attempt, it finds them by [LastHeartbeat]: those of the last seconds may be
// missing where the worker has died.
//
// It returns why the context has ended, such as ErrCanceled, and nil if it has not. Calls are cheap: the lease is
// extended every 100 ms at most. With a context that is not a handler's it does nothing else than that.
func Heartbeat(ctx context.Context, details any) error {
	if run, ok := FromContext(ctx); ok && run.beat != nil {
		run.beat(details)
	}
	return context.Cause(ctx)
}

// errExited stands for a handler that ended its goroutine instead of returning.
var errExited = errors.New("the handler ended its goroutine (runtime.Goexit) instead of returning")

// returned is what a handler has returned: a result, or a failure.
type returned struct {
	result  json.RawMessage
	failure *schedule.Failure
	// final forbids a retry.
	final bool
}

// newReturned writes down what a handler has returned. The result may have so many bytes.
func newReturned(value any, err error, limit int) (r returned) {
	if err != nil {
		r.failure, r.final = failureOf(err)
		return r
	}
	r.result, r.failure = encodeResult(value, limit)
	r.final = true
	return r
}

// invoke calls a handler in a goroutine of its own, so that the worker outlives whatever it does. What it returns comes
// on the channel, once. It is written down in that goroutine too: the methods of results and errors are the user's code.
func invoke(ctx context.Context, handler Handler, run *Run, limit int) <-chan returned {
	out := make(chan returned, 1)
	go func() {
		var r returned
		returns := false
		defer func() {
			switch p := recover(); {
			case p != nil:
				r = newReturned(nil, newPanicError(p), limit)
			case !returns:
				r = newReturned(nil, errExited, limit)
			}
			out <- r
		}()
		value, err := handler(ctx, run)
		r = newReturned(value, err, limit)
		returns = true
	}()
	return out
}

// Middleware puts something around a handler: what is to happen before and after each attempt of each run, whatever its
// type. It is called once for each handler that is registered, before the first run; the handler it returns is called as
// handlers are. See [Config.Middleware].
type Middleware func(next Handler) Handler

// wrapped puts middleware around a handler, the first one outermost. It returns nil if one of them does.
func wrapped(handler Handler, middleware []Middleware) Handler {
	for _, m := range slices.Backward(middleware) {
		if handler = m(handler); handler == nil {
			return nil
		}
	}
	return handler
}
