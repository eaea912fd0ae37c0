// Package refusal says what an error means in HTTP: one table for the HTTP API and for the pages.
//
// It may import schedule and the codes of gRPC, since executions answer with those. Only console/internal/access, console/internal/pages and
// console/internal/rest import it. It must never decide what is refused.
package refusal

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Refusal is an error as somebody gets to know it over HTTP.
type Refusal struct {
	*schedule.Error
	// Status is the status of HTTP, and Title the code in words.
	Status int
	Title  string
}

// SayWhen tells a client by a header when to come again, in whole seconds. Zero says nothing.
func SayWhen(header http.Header, wait schedule.Duration) {
	if wait > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Std().Seconds()))))
	}
}

// inHTTP has the status and the title of each code.
var inHTTP = map[schedule.Code]struct {
	status int
	title  string
}{
	schedule.CodeInvalidArgument:    {http.StatusBadRequest, "Invalid argument"},
	schedule.CodeNotFound:           {http.StatusNotFound, "Not found"},
	schedule.CodeAlreadyExists:      {http.StatusConflict, "Already exists"},
	schedule.CodeFailedPrecondition: {http.StatusConflict, "Failed precondition"},
	schedule.CodePermissionDenied:   {http.StatusForbidden, "Permission denied"},
	schedule.CodeResourceExhausted:  {http.StatusTooManyRequests, "Resource exhausted"},
	schedule.CodeUnavailable:        {http.StatusServiceUnavailable, "Unavailable"},
	schedule.CodeInternal:           {http.StatusInternalServerError, "Internal error"},
}

// Of returns what an error means. An error without a code is an internal one.
func Of(err error) *Refusal {
	var failure *schedule.Error
	if !errors.As(err, &failure) {
		failure = schedule.Errorf(fromGRPC(err), "%s", status.Convert(err).Message())
	}
	known := inHTTP[failure.Code]
	if known.status == 0 {
		known = inHTTP[schedule.CodeInternal]
	}
	return &Refusal{failure, known.status, known.title}
}

// ofGRPC has the codes of Temporal's services that are ours.
var ofGRPC = map[codes.Code]schedule.Code{
	codes.InvalidArgument: schedule.CodeInvalidArgument, codes.OutOfRange: schedule.CodeInvalidArgument, codes.NotFound: schedule.CodeNotFound,
	codes.AlreadyExists: schedule.CodeAlreadyExists, codes.FailedPrecondition: schedule.CodeFailedPrecondition, codes.Aborted: schedule.CodeFailedPrecondition,
	codes.Unimplemented: schedule.CodeFailedPrecondition, codes.PermissionDenied: schedule.CodePermissionDenied,
	codes.Unauthenticated: schedule.CodePermissionDenied, codes.ResourceExhausted: schedule.CodeResourceExhausted,
	codes.Unavailable: schedule.CodeUnavailable, codes.DeadlineExceeded: schedule.CodeUnavailable, codes.Canceled: schedule.CodeUnavailable,
}

func fromGRPC(err error) schedule.Code {
	return cmp.Or(ofGRPC[status.Code(err)], schedule.CodeInternal)
}

// Codes returns all codes, in no order.
func Codes() (all []schedule.Code) {
	for code := range inHTTP {
		all = append(all, code)
	}
	return all
}
