package worker

import "errors"

// Why the context of a handler has ended, by [context.Cause].
var (
	// ErrCanceled: somebody asked the run to stop. A handler that then returns an error ends the run as canceled, one
	// that returns a result as completed.
	ErrCanceled = errors.New("worker: the run was asked to cancel")
	// ErrTerminated: the run is over already, and nothing the handler does is reported.
	ErrTerminated = errors.New("worker: the run was terminated")
	// ErrRunTimeout: the deadline of the run has passed.
	ErrRunTimeout = errors.New("worker: the run has timed out")
	// ErrTaskTimeout: the attempt took longer than the action's task timeout. The retry policy decides what follows.
	ErrTaskTimeout = errors.New("worker: the attempt has timed out")
	// ErrHeartbeatTimeout: the handler has not called Heartbeat for the action's heartbeat timeout. The retry policy
	// decides what follows.
	ErrHeartbeatTimeout = errors.New("worker: the attempt has shown no sign of life")
	// ErrShutdown: the worker stops; another one will run the run again.
	ErrShutdown = errors.New("worker: the worker is shutting down")
)

// Errors of Worker.Run.
var (
	// ErrAlreadyRun: Run was called a second time.
	ErrAlreadyRun = errors.New("worker: Run may be called once")
	// ErrHandlersLeft: handlers have not returned although their contexts had ended; their goroutines go on. Their runs
	// were reported or given back, so another worker may be running them too.
	ErrHandlersLeft = errors.New("worker: handlers ignore the end of their context")
)

// The failure types the worker itself reports. A retry policy may list them among its non-retryable error types.
const (
	// TypePanic: the handler panicked; the details hold the stack.
	TypePanic = "panic"
	// TypeTimeout: the run or the attempt took too long.
	TypeTimeout = "timeout"
	// TypeHeartbeatTimeout: the code of the attempt showed no sign of life for too long; the details are those of the last
	// heartbeat.
	TypeHeartbeatTimeout = "heartbeat_timeout"
	// TypeCanceled: the run was canceled.
	TypeCanceled = "canceled"
	// TypeWorkerLost: the attempts are used up, and the last one never reported.
	TypeWorkerLost = "worker_lost"
	// TypeUnknownAction: no worker of the queue knows the action type.
	TypeUnknownAction = "unknown_action_type"
	// TypeInvalidInput: the input is not what the handler expects. Not retried.
	TypeInvalidInput = "invalid_input"
	// TypeInvalidResult: the handler's result cannot be written as JSON. Not retried.
	TypeInvalidResult = "invalid_result"
	// TypeResultTooLarge: the handler's result exceeds MaxResultBytes. Not retried.
	TypeResultTooLarge = "result_too_large"
)

// Error is an error with a type for programs and details for people. A handler returns it, alone or wrapped, to say
// more than a message can. Other error types may say their type with a method ErrorType() string; what has neither is
// known by its Go type.
type Error struct {
	// Type is compared with the retry policy's non-retryable error types. Empty means "error".
	Type string
	// Message is for people. It is cut after 4 KiB.
	Message string
	// Details is any value that can be written as JSON in 64 KiB; it is left out if it cannot.
	Details any
	// NonRetryable ends the run whatever the retry policy says.
	NonRetryable bool
	// Err is the cause, if there is one.
	Err error
}

// Error returns the message, and the cause if there is one.
func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.Message
	case e.Message == "":
		return e.Err.Error()
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorType returns the type.
func (e *Error) ErrorType() string {
	if e.Type == "" {
		return "error"
	}
	return e.Type
}

// NonRetryable marks an error that no retry can mend: the run ends as failed whatever its retry policy says. Message and
// type stay those of err. NonRetryable(nil) is nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &nonRetryableError{err}
}

type nonRetryableError struct{ error }

func (e *nonRetryableError) Unwrap() error { return e.error }
