package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// maxTries is how often an item is tried before it has failed: for about half a minute.
	maxTries = 10
	// minBackoff is the wait before the second attempt. It doubles up to maxBackoff.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// judge says what the outcome of an attempt at an item means: what became of it, or that it is to be tried again.
func judge(outcome Outcome, err error, try int) (Outcome, bool) {
	switch {
	case err == nil && outcome.Result == "":
		return Outcome{Result: ItemDone, Reason: outcome.Reason}, false
	case err == nil:
		return outcome, false
	case isFinal(err):
		return Outcome{ItemFailed, err.Error()}, false
	}
	return Outcome{ItemFailed, fmt.Sprintf("given up after %d attempts: %v", try, err)}, try < maxTries
}

// isFinal reports whether an error will be the same again.
func isFinal(err error) bool {
	var failure *schedule.Error
	return errors.As(err, &failure) && failure.Code != schedule.CodeUnavailable
}

// backoff is the wait after an attempt that failed.
func backoff(try int) time.Duration {
	pause := minBackoff
	for range try - 1 {
		pause = min(2*pause, maxBackoff)
	}
	return pause
}

// callNext and callDo bound one call of a Work. A panic is an error of that item, and not the end of the process.

func callNext(ctx context.Context, work Work, job *Job, after string) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, nextTimeout)
	defer cancel()
	defer recoverAs(&err)
	return work.Next(ctx, job, after, lookAhead)
}

func callDo(ctx context.Context, work Work, job *Job, id string) (outcome Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, itemTimeout)
	defer cancel()
	defer recoverAs(&err)
	return work.Do(ctx, job, id)
}

func recoverAs(err *error) {
	if p := recover(); p != nil {
		*err = schedule.Errorf(schedule.CodeInternal, "panic: %v", p)
	}
}
