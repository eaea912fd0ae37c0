package main

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/worker"
)

// logged is middleware: it logs how each attempt ends, and how long it took.
func logged(next worker.Handler) worker.Handler {
	return func(ctx context.Context, run *worker.Run) (any, error) {
		began := time.Now()
		result, err := next(ctx, run)
		worker.Logger(ctx).InfoContext(ctx, "attempt ends", "took", time.Since(began), "late", began.Sub(run.DueTime), "error", err)
		return result, err
	}
}
