package gateway

import (
	"context"
	"errors"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/schedule"
)

// status returns what a client is told about an error: Temporal's status with its details. The text of an error that comes from below is for
// the log; the client may try again.
func (g *Gateway) status(ctx context.Context, method string, err error) *status.Status {
	var ours *schedule.Error
	var theirs serviceerror.ServiceError
	switch {
	case errors.As(err, &theirs):
		return serviceerror.ToStatus(err)
	case errors.As(err, &ours):
		return serviceerror.ToStatus(translate(ours))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return serviceerror.ToStatus(err)
	}
	if s, ok := status.FromError(err); ok { // of a method that is not implemented
		return s
	}
	g.log.WarnContext(ctx, "request failed", "method", method, "error", err)
	return serviceerror.ToStatus(serviceerror.NewUnavailable("the request could not be carried out; the log of the server says why"))
}

// translate returns Temporal's error for one of Carillon's.
func translate(err *schedule.Error) error {
	text := err.Error()
	switch err.Code {
	case schedule.CodeInvalidArgument:
		return serviceerror.NewInvalidArgument(text)
	case schedule.CodeNotFound:
		return serviceerror.NewNotFound(text)
	case schedule.CodeAlreadyExists:
		return serviceerror.NewAlreadyExists(text)
	case schedule.CodeFailedPrecondition:
		return serviceerror.NewFailedPrecondition(text)
	case schedule.CodeResourceExhausted:
		return serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, text)
	case schedule.CodePermissionDenied:
		return serviceerror.NewPermissionDenied(text, "")
	case schedule.CodeUnavailable:
		return serviceerror.NewUnavailable(text)
	}
	return serviceerror.NewInternal(text)
}
