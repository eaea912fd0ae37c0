// Package refusal says what an error means in HTTP: one table for the HTTP API and for the pages.
//
// It may import schedule. Only console/internal/pages and console/internal/rest import it. It must never decide what is refused.
package refusal

import (
	"errors"
	"net/http"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Refusal is an error as somebody gets to know it over HTTP.
type Refusal struct {
	*schedule.Error
	// Status is the status of HTTP, and Title the code in words.
	Status int
	Title  string
}

// codes has the status and the title of each code.
var codes = map[schedule.Code]struct {
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
func Of(err error) Refusal {
	failure := schedule.Errorf(schedule.CodeInternal, "%v", err)
	_ = errors.As(err, &failure)
	known := codes[failure.Code]
	if known.status == 0 {
		known = codes[schedule.CodeInternal]
	}
	return Refusal{failure, known.status, known.title}
}

// Codes returns all codes, in no order.
func Codes() (all []schedule.Code) {
	for code := range codes {
		all = append(all, code)
	}
	return all
}
