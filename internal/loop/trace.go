package loop

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// StartSpan begins the span of the transition for a group of messages. It continues the trace of the newest message that has one. Other
// traces get a span of their own, and links. Held messages are the last choice: they have already been handled, and their traces already
// have a transition. End the span with [telemetry.End].
func StartSpan[M any](ctx context.Context, key schedule.Key, group []Message[M]) (context.Context, *telemetry.Transition) {
	cause := 0
	for i := range group {
		if isBetterCause(&group[i], &group[cause]) {
			cause = i
		}
	}
	return startSpan(ctx, key, group, cause, group[cause].Header)
}

// isBetterCause reports whether a transition should continue the trace of m rather than that of other.
func isBetterCause[M any](m, other *Message[M]) bool {
	traced, otherTraced := isTraced(m), isTraced(other)
	switch {
	case traced != otherTraced:
		return traced
	case m.Held != other.Held:
		return other.Held
	}
	return m.Stored.After(other.Stored)
}

func isTraced[M any](m *Message[M]) bool { return m.Header.Get(telemetry.HeaderTraceparent) != "" }

// StartSpanOf is [StartSpan] for a caller that knows which message caused the transition, and that may hold one message again and again. A
// held message begins a new trace: a schedule that is due every second holds one message forever.
func StartSpanOf[M any](
	ctx context.Context, key schedule.Key, group []Message[M], cause int,
) (context.Context, *telemetry.Transition) {
	header := group[cause].Header
	if group[cause].Held {
		header = nil
	}
	return startSpan(ctx, key, group, cause, header)
}

func startSpan[M any](
	ctx context.Context, key schedule.Key, group []Message[M], cause int, header nats.Header,
) (context.Context, *telemetry.Transition) {
	var others []telemetry.Message
	for i := range group {
		if m := &group[i]; i != cause && !m.Held {
			others = append(others, telemetry.Message{From: telemetry.DestinationOfRole(m.Task.Role), Header: m.Header})
		}
	}
	return telemetry.StartTransition(ctx, telemetry.DestinationOfRole(group[cause].Task.Role), key, header, others...)
}
