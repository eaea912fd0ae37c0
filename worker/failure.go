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

// MaxResultBytes bounds a result, as JSON (docs/semantics.md §10).
const MaxResultBytes = 512 << 10

// Bounds of what a failure carries.
const (
	maxMessageBytes = 4 << 10
	maxTypeBytes    = 255
	maxDetailBytes  = 64 << 10
	maxStackBytes   = 8 << 10
)

// failureOf describes an error of a handler, and tells whether the error itself forbids a retry.
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

// causeType returns the failure type of an error that is nothing but why a handler's context has ended, else nothing.
func causeType(err error) string {
	switch any(err) { // itself: an error around one of these says more than it
	case ErrCanceled:
		return TypeCanceled
	case ErrRunTimeout, ErrTaskTimeout, ErrHeartbeatTimeout:
		return timeoutType(err)
	}
	return ""
}

// withoutPackage returns the message of an error of this package, for people who do not know Go.
func withoutPackage(err error) string { return strings.TrimPrefix(err.Error(), "worker: ") }

// errorType returns what the error says of itself, or the name of its Go type, such as "fs.PathError", without the
// wrappers of fmt and errors around it.
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

// encodeDetails returns nil for what is absent, cannot be written as JSON, or is too large.
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

// encodeResult writes the result of a handler. A result that cannot be sent is a failure that no retry can mend.
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

// panicError is what a handler that panicked is taken to have returned.
type panicError struct {
	value any
	stack string
}

func newPanicError(value any) *panicError {
	return &panicError{value: value, stack: cut(string(debug.Stack()), maxStackBytes)}
}

func (e *panicError) Error() string     { return fmt.Sprintf("panic: %v", e.value) }
func (e *panicError) ErrorType() string { return TypePanic }

// cut shortens a text to a number of bytes, and never within a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}
