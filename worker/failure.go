package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// MaxResultBytes bounds the size of a result as JSON (docs/semantics.md §10).
const MaxResultBytes = 512 << 10

// Bounds of the parts of a failure.
const (
	maxMessageBytes = 4 << 10
	maxTypeBytes    = 255
	maxDetailBytes  = 64 << 10
	maxStackBytes   = 8 << 10
)

// failureOf describes an error of a handler, and reports whether the error itself forbids a retry.
func failureOf(err error) (failure *schedule.Failure, final bool) {
	if errorType := causeType(err); errorType != "" {
		return &schedule.Failure{Message: withoutPackage(err), Type: errorType}, false
	}
	failure = &schedule.Failure{
		Message: cut(err.Error(), maxMessageBytes),
		Type:    cut(errorType(err), maxTypeBytes),
	}
	if detailed, ok := errors.AsType[*Error](err); ok {
		failure.Details = encodeDetails(detailed.Details)
		final = detailed.NonRetryable
	}
	if panicked, ok := errors.AsType[*panicError](err); ok {
		failure.Details = encodeDetails(map[string]string{"stack": panicked.stack})
	}
	_, marked := errors.AsType[*nonRetryableError](err)
	return failure, final || marked
}

// causeType returns the failure type of an error that is exactly the cause of a context's end; empty for any other error.
func causeType(err error) string {
	switch any(err) { // compare with ==: an error that wraps one of these says more
	case ErrCanceled:
		return TypeCanceled
	case ErrRunTimeout, ErrTaskTimeout, ErrHeartbeatTimeout:
		return timeoutType(err)
	}
	return ""
}

// withoutPackage returns the message of an error without the name of this package, for people who do not know Go.
func withoutPackage(err error) string { return strings.TrimPrefix(err.Error(), "worker: ") }

// errorType returns the type that the error names itself, else the name of its Go type, such as "fs.PathError". It unwraps the wrappers of
// fmt and errors.
func errorType(err error) string {
	if typed, ok := errors.AsType[interface {
		error
		ErrorType() string
	}](err); ok {
		return typed.ErrorType()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		name := strings.TrimPrefix(reflect.TypeOf(err).String(), "*")
		pkg, _, _ := strings.Cut(name, ".")
		if _, marked := any(err).(*nonRetryableError); !marked && pkg != "fmt" && pkg != "errors" {
			return name
		}
	}
	return "error"
}

// encodeDetails returns nil if the details are absent, too large, or cannot be written as JSON.
func encodeDetails(details any) json.RawMessage {
	if details == nil {
		return nil
	}
	data, err := json.Marshal(details)
	if err != nil || len(data) > maxDetailBytes {
		return nil
	}
	return data
}

// encodeResult encodes the result of a handler. If the result cannot be sent, it returns a failure; a retry would not help.
func encodeResult(value any, limit int) (json.RawMessage, *schedule.Failure) {
	if value == nil {
		return nil, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, &schedule.Failure{
			Type: TypeInvalidResult, Message: cut("the result cannot be written as JSON: "+err.Error(), maxMessageBytes),
		}
	}
	if len(data) > limit {
		return nil, &schedule.Failure{Type: TypeResultTooLarge, Message: fmt.Sprintf(
			"the result has %d bytes, more than the %d allowed: store it elsewhere and return a reference to it",
			len(data), limit)}
	}
	return data, nil
}

// panicError stands for the error of a handler that panicked.
type panicError struct {
	value any
	stack string
}

func newPanicError(value any) *panicError {
	return &panicError{value: value, stack: cut(string(debug.Stack()), maxStackBytes)}
}

func (e *panicError) Error() string     { return fmt.Sprintf("panic: %v", e.value) }
func (e *panicError) ErrorType() string { return TypePanic }

// cut shortens a text to a number of bytes, without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}
