package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// maxTries is how often an item is tried before it has failed. That takes about half a minute.
	maxTries = 10
	// minBackoff is the wait before the second attempt. It doubles up to maxBackoff.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// judge says what an attempt at an item means: its result, or that the item must be tried again.
func judge(result ItemResult, err error, try int) (ItemResult, bool) {
	switch {
	case err == nil && result.Result == "":
		return ItemResult{Result: ItemDone, Reason: result.Reason}, false
	case err == nil:
		return result, false
	case isFinal(err):
		return ItemResult{ItemFailed, err.Error()}, false
	}
	return ItemResult{ItemFailed, fmt.Sprintf("given up after %d attempts: %v", try, err)}, try < maxTries
}

// isFinal reports whether trying again would give the same error.
func isFinal(err error) bool {
	var failure *schedule.Error
	return errors.As(err, &failure) && failure.Code != schedule.CodeUnavailable
}

// backoff is the wait after a failed attempt.
func backoff(try int) time.Duration {
	pause := minBackoff
	for range try - 1 {
		pause = min(2*pause, maxBackoff)
	}
	return pause
}

// callNext and callDo bound one call of a Work. They turn a panic into an error of that item, so that the process goes on.

func callNext(ctx context.Context, work Work, job *Job, after string) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, nextTimeout)
	defer cancel()
	defer recoverAs(&err)
	return work.Next(ctx, job, after, lookAhead)
}

func callDo(ctx context.Context, work Work, job *Job, id string) (result ItemResult, err error) {
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
