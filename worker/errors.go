package worker

import "errors"

// These are the causes with which a handler's context ends; see [context.Cause].
var (
	// ErrCanceled: somebody asked the run to stop. If the handler then returns an error, the run ends as canceled; if it returns a result,
	// as completed.
	ErrCanceled = errors.New("worker: the run was asked to cancel")
	// ErrTerminated: the run is already over. Nothing that the handler does is reported.
	ErrTerminated = errors.New("worker: the run was terminated")
	// ErrRunTimeout: the deadline of the run has passed.
	ErrRunTimeout = errors.New("worker: the run has timed out")
	// ErrTaskTimeout: the attempt took longer than the action's task timeout. The retry policy decides what follows.
	ErrTaskTimeout = errors.New("worker: the attempt has timed out")
	// ErrHeartbeatTimeout: the handler has not called Heartbeat within the action's heartbeat timeout. The retry policy decides what
	// follows.
	ErrHeartbeatTimeout = errors.New("worker: the attempt has shown no sign of life")
	// ErrShutdown: the worker stops; another worker will execute the run again.
	ErrShutdown = errors.New("worker: the worker is shutting down")
)

// Errors of Worker.Run.
var (
	// ErrAlreadyRun: Run was called a second time.
	ErrAlreadyRun = errors.New("worker: Run may be called once")
	// ErrHandlersLeft: handlers have not returned although their contexts ended; their goroutines continue. Their runs were reported or
	// given back, so another worker may execute them at the same time.
	ErrHandlersLeft = errors.New("worker: handlers ignore the end of their context")
)

// The failure types that the worker itself reports. A retry policy may list them among its non-retryable error types.
const (
	// TypePanic: the handler panicked; the details hold the stack.
	TypePanic = "panic"
	// TypeTimeout: the run or the attempt took too long.
	TypeTimeout = "timeout"
	// TypeHeartbeatTimeout: the code of the attempt showed no sign of life for too long. The details are those of the last heartbeat.
	TypeHeartbeatTimeout = "heartbeat_timeout"
	// TypeCanceled: the run was canceled.
	TypeCanceled = "canceled"
	// TypeWorkerLost: the attempts are used up, and the last one never reported.
	TypeWorkerLost = "worker_lost"
	// TypeUnknownAction: no worker of the queue knows the action type.
	TypeUnknownAction = "unknown_action_type"
	// TypeInvalidInput: the handler cannot use the input. Not retried.
	TypeInvalidInput = "invalid_input"
	// TypeInvalidResult: the handler's result cannot be written as JSON. Not retried.
	TypeInvalidResult = "invalid_result"
	// TypeResultTooLarge: the handler's result exceeds MaxResultBytes. Not retried.
	TypeResultTooLarge = "result_too_large"
)

// Error is an error with a type for programs and details for people. A handler returns it, alone or wrapped, to say more than a message
// can. Other error types may have a method ErrorType() string. The type of any other error is the name of its Go type.
type Error struct {
	// Type is compared with the retry policy's non-retryable error types. Empty means "error".
	Type string
	// Message is for people. It is cut after 4 KiB.
	Message string
	// Details is any value that can be written as JSON in 64 KiB; otherwise it is left out.
	Details any
	// NonRetryable ends the run, whatever the retry policy says.
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

// NonRetryable marks an error that a retry cannot fix: the run ends as failed, whatever its retry policy says. Message and type remain
// those of err. NonRetryable(nil) is nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &nonRetryableError{err}
}

type nonRetryableError struct{ error }

func (e *nonRetryableError) Unwrap() error { return e.error }
