package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// This file decides what becomes of a run. It is pure: no clock, no NATS.

// The retry policy's defaults (schedule.RetryPolicy).
const (
	defaultInitialInterval = time.Second
	defaultCoefficient     = 2
	defaultIntervalFactor  = 100
)

// grace is how long a handler may continue after a time limit has ended its context. Then the worker settles the run without it, so that no
// handler can hold a run.
const grace = 2 * time.Second

// The worker gives a run of an unknown type back, so that another worker of the queue can take it. This is normal during a rolling
// deployment. After unknownDeliveries, a little over a minute, the run fails.
const (
	unknownDeliveries = 20
	unknownDelay      = 200 * time.Millisecond
	unknownMaxDelay   = 5 * time.Second
)

// verdict says what becomes of a run.
type verdict struct {
	kind verdictKind
	// status, result and failure are reported.
	status  schedule.Status
	result  json.RawMessage
	failure *schedule.Failure
	// delay is how long a run that is given back waits for its next delivery.
	delay time.Duration
}

type verdictKind int

const (
	// execute runs the handler.
	execute verdictKind = iota
	// report publishes a completion and acknowledges the request.
	report
	// giveBack returns the request to the queue.
	giveBack
	// drop acknowledges the request and reports nothing.
	drop
)

// arrival is what the worker knows when a request arrives.
type arrival struct {
	// delivery counts the deliveries of the request, including this one. Each is an attempt.
	delivery int
	// cause is the cause of a control that waited for the run; nil if there was none.
	cause error
	// crowded means that the limit of the type is reached.
	crowded bool
	// stopping means that the worker begins no new runs.
	stopping bool
	// types are the registered action types.
	types []string
	now   time.Time
}

// before decides about a run that has arrived.
func before(req *schedule.ActionRequest, a arrival) verdict {
	switch {
	case errors.Is(a.cause, ErrTerminated):
		return verdict{kind: drop}
	case errors.Is(a.cause, ErrCanceled):
		return reported(schedule.StatusCanceled, TypeCanceled, "the run was canceled before it began")
	case passed(req.Deadline, a.now):
		return reported(schedule.StatusTimedOut, TypeTimeout, "the run's deadline passed before an attempt could finish")
	case attemptsUsed(req.RetryPolicy, a.delivery-1):
		return workerLost(req.RetryPolicy)
	case a.crowded:
		return verdict{kind: giveBack}
	case a.stopping && !attemptsUsed(req.RetryPolicy, a.delivery):
		// A last attempt is not given back: the next worker would take it for lost. It is made here, in the time that is left.
		return verdict{kind: giveBack}
	case !slices.Contains(a.types, req.Type):
		return unknownType(req, a)
	}
	return verdict{kind: execute}
}

// firstLimit returns when the first time limit of an attempt is over, and the cause with which its context then ends; a nil cause if there
// is no limit. began is when the attempt's code began, alive when it last showed a sign of life.
func firstLimit(req *schedule.ActionRequest, began, alive time.Time) (at time.Time, limit error) {
	add := func(end time.Time, cause error) {
		if limit == nil || end.Before(at) {
			at, limit = end, cause
		}
	}
	if !req.Deadline.IsZero() {
		add(req.Deadline, ErrRunTimeout)
	}
	if req.TaskTimeout > 0 {
		add(began.Add(req.TaskTimeout.Std()), ErrTaskTimeout)
	}
	if req.HeartbeatTimeout > 0 {
		add(alive.Add(req.HeartbeatTimeout.Std()), ErrHeartbeatTimeout)
	}
	return at, limit
}

// ending is what the worker knows when a handler has returned or was left.
type ending struct {
	attempt int
	// result is the result of the handler if failure is nil. A handler that was left has none.
	result  json.RawMessage
	failure *schedule.Failure
	// final forbids a retry.
	final bool
	// cause is why the handler's context has ended; nil if it has not.
	cause error
	now   time.Time
}

// after decides about a run whose handler has returned or was left.
func after(req *schedule.ActionRequest, e ending) verdict {
	switch {
	case errors.Is(e.cause, ErrTerminated):
		return verdict{kind: drop}
	case e.failure == nil:
		return verdict{kind: report, status: schedule.StatusCompleted, result: e.result}
	case errors.Is(e.cause, ErrCanceled):
		return verdict{kind: report, status: schedule.StatusCanceled, failure: e.failure}
	case errors.Is(e.cause, ErrRunTimeout):
		return verdict{kind: report, status: schedule.StatusTimedOut, failure: timeout(ErrRunTimeout, e.failure)}
	case errors.Is(e.cause, ErrShutdown) && !attemptsUsed(req.RetryPolicy, e.attempt):
		return verdict{kind: giveBack}
	case errors.Is(e.cause, ErrShutdown):
		return workerLost(req.RetryPolicy)
	}
	return afterError(req, e)
}

// afterError applies the retry policy.
func afterError(req *schedule.ActionRequest, e ending) verdict {
	ended := verdict{kind: report, status: schedule.StatusFailed, failure: e.failure}
	for _, limit := range []error{ErrTaskTimeout, ErrHeartbeatTimeout} {
		if errors.Is(e.cause, limit) {
			ended.status, ended.failure = schedule.StatusTimedOut, timeout(limit, e.failure)
		}
	}
	if e.final || !mayRetry(req.RetryPolicy, e.attempt, ended.failure.Type) {
		return ended
	}
	delay := backoff(req.RetryPolicy, e.attempt)
	if passed(req.Deadline, e.now.Add(delay)) {
		return ended // a wait would end only in a timeout that hides the error
	}
	return verdict{kind: giveBack, delay: delay, failure: ended.failure}
}

// mayRetry reports whether a policy allows another attempt after one that failed with an error of the given type.
func mayRetry(p *schedule.RetryPolicy, attempt int, errorType string) bool {
	return p != nil && !attemptsUsed(p, attempt) && !slices.Contains(p.NonRetryableErrorTypes, errorType)
}

// attemptsUsed reports whether a policy allows no more than the given number of attempts.
func attemptsUsed(p *schedule.RetryPolicy, attempts int) bool {
	return p != nil && p.MaximumAttempts > 0 && attempts >= p.MaximumAttempts
}

// backoff returns the wait after the given attempt; attempts count from 1.
func backoff(p *schedule.RetryPolicy, attempt int) time.Duration {
	initial := p.InitialInterval.Std()
	if initial <= 0 {
		initial = defaultInitialInterval
	}
	coefficient := p.BackoffCoefficient
	if coefficient < 1 {
		coefficient = defaultCoefficient
	}
	limit := float64(p.MaximumInterval)
	if limit <= 0 {
		limit = defaultIntervalFactor * float64(initial)
	}
	// Floating point, because the power overflows soon; the limit then replaces infinity.
	wait := min(float64(initial)*math.Pow(coefficient, float64(attempt-1)), limit)
	return time.Duration(min(wait, float64(math.MaxInt64/2)))
}

// unknownType gives a run to another worker until the deliveries or attempts are used up.
func unknownType(req *schedule.ActionRequest, a arrival) verdict {
	if a.delivery < unknownDeliveries && !attemptsUsed(req.RetryPolicy, a.delivery) {
		delay := unknownDelay << min(a.delivery-1, 10)
		return verdict{kind: giveBack, delay: min(delay, unknownMaxDelay)}
	}
	registered := "none"
	if len(a.types) > 0 {
		registered = strings.Join(a.types, ", ")
	}
	return reported(schedule.StatusFailed, TypeUnknownAction,
		fmt.Sprintf("no worker of task queue %q knows the action type %q; this one has registered: %s",
			req.TaskQueue, req.Type, registered))
}

func workerLost(p *schedule.RetryPolicy) verdict {
	return reported(schedule.StatusFailed, TypeWorkerLost,
		fmt.Sprintf("worker lost: the last of %d attempts began and never reported", p.MaximumAttempts))
}

func reported(status schedule.Status, errorType, message string) verdict {
	failure := &schedule.Failure{Type: errorType, Message: cut(message, maxMessageBytes)}
	return verdict{kind: report, status: status, failure: failure}
}

// timeout is the failure of a handler that a time limit ended. It keeps what the handler said about it.
func timeout(cause error, failure *schedule.Failure) *schedule.Failure {
	message := withoutPackage(cause)
	if failure.Message != message {
		message += ": " + failure.Message
	}
	return &schedule.Failure{Type: timeoutType(cause), Message: cut(message, maxMessageBytes), Details: failure.Details}
}

// stillRunning is the failure of a handler that was left because of a time limit.
func stillRunning(limit error, details json.RawMessage) *schedule.Failure {
	return &schedule.Failure{
		Type: timeoutType(limit), Message: "the handler ignores the end of its context and was left", Details: details,
	}
}

func timeoutType(limit error) string {
	if errors.Is(limit, ErrHeartbeatTimeout) {
		return TypeHeartbeatTimeout
	}
	return TypeTimeout
}

// passed reports whether a deadline has come. The zero deadline never does.
func passed(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }
