package invoker

import (
	"cmp"
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// What a start waited for, in traces. Limits of the namespace have the names of [schedule.DelayReason].
const (
	waitOverlap = "overlap"
	waitRetry   = "retry"
)

// describe records in the spans of a transition which runs have ended.
func describe(t *telemetry.Transition, group []loop.Message[Message]) {
	for i := range group {
		c, span := group[i].Body.Completion, t.Of(group[i].Header)
		if c == nil || group[i].Held || !span.IsRecording() {
			continue
		}
		span.SetAttributes(
			semconv.MessagingMessageID(c.RequestID), telemetry.AttributeRunID.String(c.RunID),
			telemetry.AttributeStatus.String(string(c.Status)), telemetry.AttributeAttempt.Int(c.Attempt),
			telemetry.AttributeTaskQueue.String(c.TaskQueue),
		)
	}
}

// causeOf returns the trace that a handed-over start continues: the span of the transition that takes it over, or the message itself if no
// such span is recorded.
func causeOf(ctx context.Context, header nats.Header) string {
	cause := telemetry.Extract(context.Background(), header) //permit:context.Background nothing of ctx but what the header says
	transition, ok := trace.SpanFromContext(ctx).(*telemetry.Transition)
	if !ok {
		return telemetry.Traceparent(cause)
	}
	span := transition.Of(header)
	if span.IsRecording() && span.SpanContext().TraceID() == trace.SpanContextFromContext(cause).TraceID() {
		return telemetry.Traceparent(trace.ContextWithSpan(ctx, span))
	}
	return telemetry.Traceparent(cause)
}

// waitedFor returns what a start waits for, by the record; empty if it waits only for its turn.
func waitedFor(s *wire.BufferedStart) string {
	switch {
	case s.Phase == schedule.PhaseDeferred:
		return waitOverlap
	case s.Delayed():
		return string(s.Delay.By)
	case s.Phase == schedule.PhaseReady && s.Attempt > 1:
		return waitRetry
	}
	return ""
}

// dueAt returns when a start could have begun; zero if that is unknown. Times of a spec are whole seconds. A manual start with such a time
// belongs to a backfill, and its request came at another, unknown time. A manual start of a trigger has the instant of the request.
func dueAt(s *wire.BufferedStart) time.Time {
	if s.Manual && s.Nominal.Nanosecond() == 0 {
		return time.Time{}
	}
	return s.Actual
}

// traced returns the context and the span in which a start is published, and the start as it is published there. They belong to the trace
// of the start's cause, however old that is. The wait since the due time has a span of its own. The present transition is linked.
func (s *session) traced(
	ctx context.Context, start *wire.BufferedStart,
) (context.Context, trace.Span, *wire.BufferedStart) {
	if !telemetry.MayRecord() {
		return ctx, noop.Span{}, start // the start keeps its trace
	}
	now, in := s.config.Now(), telemetry.WithTraceparent(ctx, start.Trace)
	subject := s.config.Names.Action(s.key.Namespace, start.TaskQueue, start.WorkflowID)
	if start.ActionKind.IsWorkflow() {
		shard := s.config.Store.ShardOf(schedule.Key{Namespace: s.key.Namespace, ID: start.WorkflowID})
		subject = s.config.Names.Execution(shard, s.key.Namespace, subjects.VerbStartScheduled)
	}
	under, span := telemetry.StartPublish(in, subject)
	if !span.SpanContext().IsValid() {
		return ctx, span, start
	}
	continued := *start
	continued.Trace = telemetry.Traceparent(under)
	if span.IsRecording() {
		reason := cmp.Or(waitedFor(start), s.waited[start.RequestID])
		if at := dueAt(start); !at.IsZero() {
			telemetry.Waited(in, at, now, reason, trace.WithAttributes(telemetry.ScheduleAttributes(s.key)...))
		}
		s.describeStart(span, start, reason)
		if by := trace.SpanContextFromContext(ctx); by.SpanID() != trace.SpanContextFromContext(in).SpanID() {
			span.AddLink(trace.Link{SpanContext: by})
		}
	}
	return under, span, &continued
}

func (s *session) describeStart(span trace.Span, start *wire.BufferedStart, reason string) {
	d := &s.definition.Value
	policy := start.Overlap.Or(d.Schedule.Policies.Overlap).Or(schedule.OverlapSkip)
	span.SetAttributes(telemetry.ScheduleAttributes(s.key)...)
	span.SetAttributes(
		semconv.MessagingMessageID(start.RequestID),
		telemetry.AttributeWorkflowID.String(start.WorkflowID), telemetry.AttributeRunID.String(start.RunID),
		telemetry.AttributeActionType.String(d.Schedule.Action.Type), telemetry.AttributeTaskQueue.String(start.TaskQueue),
		telemetry.AttributeNominalTime.String(start.Nominal.UTC().Format(time.RFC3339Nano)),
		telemetry.AttributeDueTime.String(start.Actual.UTC().Format(time.RFC3339Nano)),
		telemetry.AttributeOverlapPolicy.String(string(policy)),
		telemetry.AttributeSource.String(start.Source), telemetry.AttributeAttempt.Int(start.Attempt),
	)
	if reason != "" {
		span.SetAttributes(telemetry.AttributeWaitReason.String(reason))
	}
}

// maxDecisions is how many decisions the span of a transition records.
const maxDecisions = 32

// newEvents returns the events that a new state has in its outbox and the old state had not.
func newEvents(before, after *wire.InvokerState) []schedule.Event {
	known := before.EventSequence
	if before.Incarnation != after.Incarnation {
		known = 0 // another schedule
	}
	added := min(after.EventSequence-known, uint64(len(after.Outbox)))
	return after.Outbox[uint64(len(after.Outbox))-added:]
}

// recordDecisions records in the span of a transition the decisions about starts that do not begin. Starts that begin, and runs that end,
// have spans of their own.
func recordDecisions(ctx context.Context, events []schedule.Event) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	told := 0
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case schedule.EventDeferred, schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped, schedule.EventRetried:
		default:
			continue
		}
		if told++; told > maxDecisions {
			return
		}
		of := []attribute.KeyValue{telemetry.AttributeReason.String(e.Reason)}
		if e.RequestID != "" {
			of = append(of, telemetry.AttributeWorkflowID.String(e.WorkflowID),
				telemetry.AttributeNominalTime.String(e.Nominal.UTC().Format(time.RFC3339Nano)))
		}
		if e.Count > 0 {
			of = append(of, telemetry.AttributeStarts.Int(e.Count))
		}
		span.AddEvent("carillon."+string(e.Kind), trace.WithAttributes(of...))
	}
}

// endStart ends the span of a start with its result.
func endStart(span trace.Span, report *StartReport, err error) {
	switch {
	case err != nil || !span.IsRecording():
	case report.Result == Refused:
		telemetry.Fail(span, "refused", report.Reason)
	case report.Result == Failed || report.Result == Unreachable:
		telemetry.Fail(span, "failed", report.Reason)
	}
	telemetry.End(span, err)
}
