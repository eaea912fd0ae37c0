package worker

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// observe reports whether the worker is connected, until stop is called.
func (w *Worker) observe() (stop func()) {
	metrics.DeadLetters.Begin(metrics.Untraced(), deadLetterSource)
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		o.Bool(metrics.WorkerConnected, w.bus.Connected(), w.config.Namespace, w.config.TaskQueue)
	}, metrics.WorkerConnected)
}

// countArrival counts a run that arrives again.
func (w *Worker) countArrival(deliveries uint64) {
	if deliveries > 1 {
		metrics.WorkerRedelivered.Add(metrics.Untraced(), 1, w.config.Namespace, w.config.TaskQueue)
	}
}

func (w *Worker) countExecuting(change int) {
	metrics.WorkerExecuting.Add(metrics.Untraced(), change, w.config.Namespace, w.config.TaskQueue)
}

// countAttempt counts an attempt whose handler has returned or was left.
func (w *Worker) countAttempt(v *verdict, took time.Duration) {
	ctx, outcome := metrics.Untraced(), v.outcome()
	metrics.WorkerAttempts.Add(ctx, 1, w.config.Namespace, w.config.TaskQueue, outcome)
	metrics.WorkerAttemptDuration.RecordTime(ctx, took, w.config.Namespace, w.config.TaskQueue, outcome)
}

// outcome is the name of a verdict in metrics.
func (v *verdict) outcome() string {
	switch {
	case v.kind == report:
		return string(v.status)
	case v.kind == giveBack && v.failure != nil:
		return metrics.AttemptRetry
	case v.kind == giveBack:
		return metrics.AttemptReturned
	}
	return metrics.AttemptDropped
}
