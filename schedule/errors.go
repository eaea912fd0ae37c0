package schedule

import (
	"errors"
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// Code classifies an error for programs. The codes are part of the API (docs/semantics.md §9).
type Code string

// The error codes.
const (
	// CodeInvalidArgument: the request can never succeed as it is.
	CodeInvalidArgument Code = "invalid_argument"
	// CodeNotFound: the schedule or namespace does not exist.
	CodeNotFound Code = "not_found"
	// CodeAlreadyExists: the schedule ID is taken.
	CodeAlreadyExists Code = "already_exists"
	// CodeFailedPrecondition: the state does not allow the request, for example a stale conflict token.
	CodeFailedPrecondition Code = "failed_precondition"
	// CodeResourceExhausted: a limit is reached; the message names it.
	CodeResourceExhausted Code = "resource_exhausted"
	// CodeUnavailable: NATS did not answer in time; the request may be tried again.
	CodeUnavailable Code = "unavailable"
	// CodePermissionDenied: the caller may not do this.
	CodePermissionDenied Code = "permission_denied"
	// CodeInternal: a defect of Carillon.
	CodeInternal Code = "internal"
)

// Error is an error for a user: a code for programs and one line for people.
type Error struct {
	Code Code `json:"code"`
	// Field is the path of the offending field, such as "spec.intervals[0].every". Empty when no field is at fault.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what is accepted, without the field.
	Message string `json:"message"`
	// RetryAfter is how long to wait before the same request may be accepted, if that is known. No work has been done for the refused
	// request. [HeaderRetryAfter] says the same.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// Error returns "field: message", or the message alone.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Is reports whether target is an *Error with the same code and no other content, so that
// errors.Is(err, &Error{Code: CodeNotFound}) works.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code && t.Field == "" && t.Message == ""
}

// Errorf makes an Error without a field.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes an Error with CodeInvalidArgument that names a field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidArgument, Field: field, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first Error in err's chain: "" for nil, CodeInternal for any other error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Prefix puts path in front of the Field of an *Error. Each validation names its fields relative to itself, and the caller adds its own
// position: Prefix("spec", err) turns "calendars[2].hour" into "spec.calendars[2].hour". An empty Field becomes path; a Field that begins
// with "[" is joined without a dot. Prefix returns nil for nil, and returns any error that is not itself an *Error unchanged. It does not
// modify err.
func Prefix(path string, err error) error {
	e, itself := any(err).(*Error)
	if !itself {
		return err
	}
	prefixed := *e
	switch {
	case e.Field == "":
		prefixed.Field = path
	case path == "" || strings.HasPrefix(e.Field, "["):
		prefixed.Field = path + e.Field
	default:
		prefixed.Field = path + "." + e.Field
	}
	return &prefixed
}

// validateEach checks that a list holds at most limit items, and calls check for every item. Errors name "path" or "path[i]".
func validateEach[T any](path string, items []T, limit int, check func(T) error) error {
	if len(items) > limit {
		return Invalid(path, "has %d entries: at most %d are accepted", len(items), limit)
	}
	for i, item := range items {
		if err := check(item); err != nil {
			return Prefix(jsontext.Indexed(path, i), err)
		}
	}
	return nil
}
