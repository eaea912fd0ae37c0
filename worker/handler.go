package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Run is one attempt to execute an action, as its handler sees it. It must not be modified.
type Run struct {
	// ActionRequest is the request as it was sent. RequestID is the idempotency key; NominalTime and DueTime say what
	// the run is for, LastSuccess and LastFailure how earlier runs of the schedule ended.
	schedule.ActionRequest
	// Attempt counts the attempts, from 1. A delivery that nobody answered counts as one.
	Attempt int

	beat func(details any)
}

// Decode reads the input into a value. Without an input the value stays as it is. The error is not retryable.
func (r *Run) Decode(into any) error {
	if len(r.Input) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Input, into); err != nil {
		return InvalidInput("the input does not fit action type %q: %v", r.Type, err)
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

// Handle registers a function that takes the input as a value of its own type, and returns the result likewise. An
// input that does not fit ends the run as failed, of type TypeInvalidInput. Of a run without an input the function gets
// the zero I. What else there is to know about the run says [FromContext]. It panics as Register does.
func Handle[I, O any](w *Worker, actionType string, handle func(ctx context.Context, input I) (O, error)) {
	w.Register(actionType, func(ctx context.Context, run *Run) (any, error) {
		var input I
		if err := run.Decode(&input); err != nil {
			return nil, err
		}
		return handle(ctx, input)
	})
}

type runKey struct{}

// FromContext returns the run a handler's context belongs to. It reports false for any other context.
func FromContext(ctx context.Context) (*Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	return run, ok
}

// Heartbeat is a sign of life: if the action has a heartbeat timeout, the time starts anew. It also extends the lease on
// the run at once, and records details about its progress, any value that can be written as JSON in 64 KiB, as they are
// at this moment; if the attempt fails without details of its own, its failure bears the last ones recorded.
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

// returned is what a handler has returned.
type returned struct {
	value any
	err   error
}

// invoke calls a handler in a goroutine of its own, so that the worker outlives whatever it does. What it returns comes
// on the channel, once.
func invoke(ctx context.Context, handler Handler, run *Run) <-chan returned {
	out := make(chan returned, 1)
	go func() {
		result := returned{err: errExited}
		defer func() {
			if p := recover(); p != nil {
				result = returned{err: newPanicError(p)}
			}
			out <- result
		}()
		value, err := handler(ctx, run)
		result = returned{value, err}
	}()
	return out
}
