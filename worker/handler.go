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

// Run is one attempt to execute an action, as the handler sees it. Handlers must not modify it.
type Run struct {
	// ActionRequest is the request as it was sent. RequestID is the idempotency key. NominalTime and DueTime say what the run is for;
	// LastSuccess and LastFailure say how earlier runs of the schedule ended.
	schedule.ActionRequest
	// Attempt counts the attempts, from 1. A delivery without an answer counts as an attempt.
	Attempt int
	// LastHeartbeat are the details of the newest known heartbeat of an earlier attempt; see [Heartbeat].
	LastHeartbeat json.RawMessage

	log  *slog.Logger
	beat func(details any)
}

// Decode decodes the input into a value. Without an input, the value is unchanged. The error is not retryable.
func (r *Run) Decode(into any) error {
	if len(r.Input) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Input, into); err != nil {
		return InvalidInput("the input does not fit action type %q: %s", r.Type, misfit(err))
	}
	return nil
}

// InvalidInput returns the error of a handler that cannot use its input. Its type is TypeInvalidInput. It is not retryable.
func InvalidInput(format string, args ...any) *Error {
	return &Error{Type: TypeInvalidInput, Message: fmt.Sprintf(format, args...), NonRetryable: true}
}

// Handler executes the runs of one action type. It returns an error, or a result that can be written as JSON in MaxResultBytes; nil means
// no result. [Error] and [NonRetryable] say how errors differ. A panic counts as an error of type TypePanic. Handlers are called
// concurrently.
type Handler func(ctx context.Context, run *Run) (any, error)

type runKey struct{}

// FromContext returns the run that a handler's context belongs to. It reports false for any other context.
func FromContext(ctx context.Context) (*Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	return run, ok
}

// Logger returns the worker's logger with attributes that name the run of ctx, the context of a handler. For any other context it returns
// slog.Default().
func Logger(ctx context.Context) *slog.Logger {
	run, ok := FromContext(ctx)
	if !ok || run.log == nil {
		return slog.Default()
	}
	return run.log.With(append(runAttrs(&run.ActionRequest), keyAttempt, run.Attempt)...)
}

// Heartbeat is a sign of life of a handler. It does three things:
//
//  1. it restarts the action's heartbeat timeout, if there is one;
//  2. it extends the lease on the run at once, but at most every 100 ms, so calls are cheap;
//  3. it records the details, as they are now, as progress. They are any value that can be written as JSON in 64 KiB; nil keeps the details
//     recorded before.
//
// If the attempt fails without details of its own, its failure has the last recorded details. The next attempt, if there is one, gets them
// from [LastHeartbeat]. If the worker dies, those of the last seconds may be missing.
//
// Heartbeat returns why the context has ended, such as ErrCanceled, and nil if it has not. With a context that is not a handler's, it does
// nothing else.
func Heartbeat(ctx context.Context, details any) error {
	if run, ok := FromContext(ctx); ok && run.beat != nil {
		run.beat(details)
	}
	return context.Cause(ctx)
}

// errExited is the error of a handler that ended its goroutine instead of returning.
var errExited = errors.New("the handler ended its goroutine (runtime.Goexit) instead of returning")

// returned is what a handler returned: a result or a failure.
type returned struct {
	result  json.RawMessage
	failure *schedule.Failure
	// final forbids a retry.
	final bool
}

// newReturned encodes what a handler returned. The result may have at most limit bytes.
func newReturned(value any, err error, limit int) (r returned) {
	if err != nil {
		r.failure, r.final = failureOf(err)
		return r
	}
	r.result, r.failure = encodeResult(value, limit)
	r.final = true
	return r
}

// invoke calls a handler in a goroutine of its own, so that the worker survives whatever it does. The channel delivers what it returned,
// once. The encoding happens in that goroutine too, because the methods of results and errors are the user's code.
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

// Middleware wraps a handler: it does something before and after each attempt of each run, of any type. It is called once for each
// registered handler, before the first run. The handler that it returns is called like any handler. See [Config.Middleware].
type Middleware func(next Handler) Handler

// wrapped wraps a handler in middleware, the first one outermost. It returns nil if one middleware returns nil.
func wrapped(handler Handler, middleware []Middleware) Handler {
	for _, m := range slices.Backward(middleware) {
		if handler = m(handler); handler == nil {
			return nil
		}
	}
	return handler
}
