package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	contentJSON    = "application/json"
	contentProblem = "application/problem+json"
)

// problem is an error as RFC 9457 has it.
type problem struct {
	// Type is a URI that stands for Code.
	Type string `json:"type"`
	// Title is the code in words, and Status that of HTTP.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is one line for people.
	Detail string `json:"detail"`
	// Code and Field are as in [schedule.Error].
	Code  schedule.Code `json:"code"`
	Field string        `json:"field,omitempty"`
	// RetryAfter is as in [schedule.Error]. The header Retry-After says the same in whole seconds.
	RetryAfter schedule.Duration `json:"retryAfter,omitempty"`
}

// typeOf is the URI of a code.
func typeOf(code schedule.Code) string { return "tag:carillon,2026:" + string(code) }

// problemError is an error with a status of its own.
type problemError struct {
	status int
	err    *schedule.Error
}

func (e *problemError) Error() string { return e.err.Error() }

func (e *problemError) Unwrap() error { return e.err }

// problemOf returns what the client is told.
func problemOf(err error) problem {
	refused := refusal.Of(err)
	if refused.Code == schedule.CodeFailedPrecondition && refused.Field == fieldToken {
		refused.Status = http.StatusPreconditionFailed
	}
	if special := (*problemError)(nil); errors.As(err, &special) {
		refused.Status = special.status
	}
	return problem{
		Type: typeOf(refused.Code), Title: refused.Title, Status: refused.Status, Detail: refused.Message, Code: refused.Code, Field: refused.Field,
		RetryAfter: refused.RetryAfter,
	}
}

// Refuse answers with an error, as all of the API does, but with another status.
func Refuse(w http.ResponseWriter, status int, err *schedule.Error) {
	refuse(w, &problemError{status, err})
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	told := problemOf(err)
	refusal.SayWhen(w.Header(), told.RetryAfter)
	w.Header().Set("Content-Type", contentProblem)
	w.WriteHeader(told.Status)
	_ = json.NewEncoder(w).Encode(told) // fails if the client has gone
}
