package invoker

import (
	"context"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// countIgnored counts the ignored messages of a schedule.
func countIgnored(ctx context.Context, reason string, count int) {
	metrics.PoolIgnored.Add(ctx, count, subjects.PoolInvoker, reason)
}

// countStored counts what a newly stored record says, compared to the one before, and its new events.
func (s *session) countStored(ctx context.Context, out *Decision, fresh []schedule.Event) {
	metrics.Begin(ctx, s.key.Namespace)
	c := count{key: s.key, watched: metrics.IsWatched(s.key)}
	for i := range fresh {
		c.event(ctx, &fresh[i])
	}
	for reason, starts := range out.Delayed {
		metrics.Delayed.Add(ctx, starts, s.key.Namespace, string(reason))
	}
	if out.Pause != nil {
		metrics.PausedOnFailure.Add(ctx, 1, s.key.Namespace)
	}
	c.buffer(ctx, out.State.Starts)
}

// count counts for one schedule.
type count struct {
	key     schedule.Key
	watched bool
}

func (c *count) buffer(ctx context.Context, starts []wire.BufferedStart) {
	if !metrics.Buffered.Enabled(ctx) {
		return
	}
	waiting := float64(wire.CountWaiting(starts))
	metrics.Buffered.Record(ctx, waiting, c.key.Namespace)
	if c.watched {
		metrics.WatchedBuffered.Record(ctx, waiting, c.key.Namespace, c.key.ID)
	}
}

func (c *count) event(ctx context.Context, e *schedule.Event) {
	switch e.Kind {
	case schedule.EventStarted:
		c.started(ctx, e)
	case schedule.EventCompleted:
		c.completed(ctx, e)
	case schedule.EventRetried:
		metrics.StartRetried.Add(ctx, 1, c.key.Namespace)
	case schedule.EventDeferred:
		metrics.Deferred.Add(ctx, 1, c.key.Namespace, string(e.Overlap))
	case schedule.EventCancelRequested:
		metrics.EndRequested.Add(ctx, 1, c.key.Namespace, string(schedule.ControlCancel))
	case schedule.EventTerminated:
		metrics.EndRequested.Add(ctx, 1, c.key.Namespace, string(schedule.ControlTerminate))
	case schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped:
		c.unstarted(ctx, e)
	}
}

func (c *count) started(ctx context.Context, e *schedule.Event) {
	source, latency := sourceOf(e), e.Time.Sub(e.Actual)
	metrics.Started.Add(ctx, 1, c.key.Namespace, e.TaskQueue, source)
	if !e.Manual {
		metrics.StartLatency.RecordTime(ctx, latency, c.key.Namespace, e.TaskQueue)
	}
	if !c.watched {
		return
	}
	metrics.WatchedStarted.Add(ctx, 1, c.key.Namespace, c.key.ID, source)
	if !e.Manual {
		metrics.WatchedStartLatency.RecordTime(ctx, latency, c.key.Namespace, c.key.ID)
	}
}

func (c *count) completed(ctx context.Context, e *schedule.Event) {
	status, ran := string(e.Status), !e.CodeTime.IsZero()
	metrics.Completed.Add(ctx, 1, c.key.Namespace, e.TaskQueue, status)
	if ran {
		metrics.RunDuration.RecordTime(ctx, e.CloseTime.Sub(e.CodeTime), c.key.Namespace, e.TaskQueue, status)
	}
	if c.watched {
		metrics.WatchedCompleted.Add(ctx, 1, c.key.Namespace, c.key.ID, status)
	}
	if e.Manual {
		return
	}
	latency, lateness := e.CloseTime.Sub(e.Actual), e.CodeTime.Sub(e.Actual)
	metrics.CompletionLatency.RecordTime(ctx, latency, c.key.Namespace, e.TaskQueue)
	if ran {
		metrics.Lateness.RecordTime(ctx, lateness, c.key.Namespace, e.TaskQueue)
	}
	if !c.watched {
		return
	}
	metrics.WatchedCompletionLatency.RecordTime(ctx, latency, c.key.Namespace, c.key.ID)
	if ran {
		metrics.WatchedLateness.RecordTime(ctx, lateness, c.key.Namespace, c.key.ID)
	}
}

// unstarted counts actions that were given up.
func (c *count) unstarted(ctx context.Context, e *schedule.Event) {
	actions, outcome := max(e.Count, 1), metrics.WatchedDropped
	switch e.Kind {
	case schedule.EventSkipped:
		outcome = metrics.WatchedSkipped
		metrics.Skipped.Add(ctx, actions, c.key.Namespace, skippedBy(e))
	case schedule.EventMissed:
		outcome = metrics.WatchedMissed
		metrics.Missed.Add(ctx, actions, c.key.Namespace, missedBecause(e))
	default:
		metrics.Dropped.Add(ctx, actions, c.key.Namespace, droppedBecause(e.Reason))
	}
	if c.watched {
		metrics.WatchedUnstarted.Add(ctx, actions, c.key.Namespace, c.key.ID, outcome)
	}
}

func sourceOf(e *schedule.Event) string {
	if e.Manual {
		return metrics.SourceManual
	}
	return metrics.SourceAutomatic
}

func skippedBy(e *schedule.Event) string {
	if e.Overlap == schedule.OverlapUnspecified {
		return metrics.PolicyOnRequest
	}
	return string(e.Overlap)
}

func missedBecause(e *schedule.Event) string {
	if e.Reason == reasonSuperseded {
		return metrics.MissedSuperseded
	}
	return metrics.MissedCatchup
}

// droppedBecause returns the metric label of a reason. A reason that is not one of a transition comes from a refused start.
func droppedBecause(reason string) string {
	switch reason {
	case reasonPaused:
		return metrics.DropPaused
	case reasonOutOfActions:
		return metrics.DropOutOfActions
	case reasonCanceled:
		return metrics.DropCanceled
	case reasonTooMany, reasonBufferFull:
		return metrics.DropBufferFull
	case wire.GoneReason:
		return metrics.DropGone
	}
	switch {
	case strings.HasPrefix(reason, schedule.FrozenReason):
		return metrics.DropFrozen
	case strings.HasPrefix(reason, reasonStartFailed):
		return metrics.DropStartFailed
	}
	return metrics.DropRefused
}
