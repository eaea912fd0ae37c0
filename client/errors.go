package client

import "github.com/carillon-scheduler/carillon/schedule"

// Errors of the methods of a [Client] match one of these by [errors.Is]. Each is a *[schedule.Error], which [errors.As] finds: its Field
// and Message give details, and its RetryAfter says when to try again.
var (
	// ErrInvalidArgument: the request can never succeed as it is; Field names what is wrong.
	ErrInvalidArgument error = &schedule.Error{Code: schedule.CodeInvalidArgument}
	// ErrNotFound: the schedule, run or namespace does not exist.
	ErrNotFound error = &schedule.Error{Code: schedule.CodeNotFound}
	// ErrAlreadyExists: the ID is taken.
	ErrAlreadyExists error = &schedule.Error{Code: schedule.CodeAlreadyExists}
	// ErrFailedPrecondition: the state does not allow the request, for example a stale conflict token.
	ErrFailedPrecondition error = &schedule.Error{Code: schedule.CodeFailedPrecondition}
	// ErrResourceExhausted: a limit is reached; Message names it.
	ErrResourceExhausted error = &schedule.Error{Code: schedule.CodeResourceExhausted}
	// ErrUnavailable: there was no answer in time, or no frontend to ask. The request may have been carried out nevertheless.
	ErrUnavailable error = &schedule.Error{Code: schedule.CodeUnavailable}
	// ErrPermissionDenied: the caller may not do this.
	ErrPermissionDenied error = &schedule.Error{Code: schedule.CodePermissionDenied}
	// ErrInternal: a defect of Carillon.
	ErrInternal error = &schedule.Error{Code: schedule.CodeInternal}
)
