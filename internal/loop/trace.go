package loop

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// StartSpan begins the span of a transition that a group of messages leads to. It continues the trace of the newest that bears
// one; those of the others have a span of their own, and links. Messages that have been held come last: they have been dealt
// with, and their traces already have a transition. End it by [telemetry.End].
func StartSpan[M any](ctx context.Context, key schedule.Key, group []Message[M]) (context.Context, *telemetry.Transition) {
	cause := 0
	for i := range group {
		if isBetterCause(&group[i], &group[cause]) {
			cause = i
		}
	}
	return startSpan(ctx, key, group, cause, group[cause].Header)
}

// isBetterCause reports whether a transition should rather continue the trace of m than that of another message.
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

// StartSpanOf is [StartSpan] for who knows which message has caused the transition, and may hold one again and again. What is
// held begins a trace: of a schedule that is due every second, one message is held for ever.
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
