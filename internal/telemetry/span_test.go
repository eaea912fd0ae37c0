package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const other = "00-11111111111111111111111111111111-2222222222222222-01"

// recorded returns a tracer and a function that returns its ended spans.
func recorded() (trace.Tracer, func() []sdktrace.ReadOnlySpan) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return provider.Tracer("test"), recorder.Ended
}

func attributesOf(span sdktrace.ReadOnlySpan) map[string]string {
	values := map[string]string{}
	for _, a := range span.Attributes() {
		values[string(a.Key)] = a.Value.String()
	}
	return values
}

func TestDestinations(t *testing.T) {
	t.Parallel()
	names, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a.b c"}
	for subject, want := range map[string]Destination{
		names.Generate(3, key, subjects.WhatDue):                      "task.generate",
		names.InvokeWake(0, key):                                      "task.invoke",
		names.InvokeEnqueue(0, key, schedule.SourceAuto, wire.Span{}): "task.invoke",
		names.Backfill(0, key, "b"):                                   "task.backfill",
		names.Timeout(0, key, "r"):                                    "task.timeout",
		names.Callback(0, key, "q", "r"):                              DestinationCallback,
		names.Action("default", "q", "w"):                             DestinationAction,
		names.Event(key, schedule.EventCreated):                       DestinationOther,
		"":                                                            DestinationOther,
		"carillon.task.0":                                             DestinationOther,
	} {
		assert.Equal(t, want, destinationOf(subject), subject)
	}
}

func TestEveryRoleHasADestination(t *testing.T) {
	t.Parallel()
	seen := map[Destination]bool{DestinationOther: true, DestinationAction: true}
	for _, role := range subjects.Roles() {
		to := DestinationOfRole(role)
		assert.False(t, seen[to], role)
		seen[to] = true
		assert.Equal(t, "process "+string(to), of(processing, to).name)
	}
	assert.Equal(t, DestinationOther, DestinationOfRole("unknown"))
}

// TestTransitionIsTraced: a transition continues the trace of its message.
func TestTransitionIsTraced(t *testing.T) {
	t.Parallel()
	tracer, _ := recorded()
	key := schedule.Key{Namespace: "default", ID: "nightly"}
	header := nats.Header{HeaderTraceparent: {example}, HeaderTracestate: {"vendor=1"}}
	ctx, span := startTransition(Extract(t.Context(), header), tracer, DestinationOfRole(subjects.RoleInvoke), key)
	defer span.End()
	cause := trace.SpanContextFromContext(Extract(t.Context(), header))
	require.Equal(t, cause.WithSpanID(span.SpanContext().SpanID()).WithRemote(false), span.SpanContext())
	require.Equal(t, span.SpanContext(), trace.SpanContextFromContext(ctx))

	_, root := startTransition(t.Context(), tracer, DestinationOfRole(subjects.RoleInvoke), key)
	defer root.End()
	require.True(t, root.SpanContext().IsSampled())
}

func TestATransitionIsLinkedToItsOtherMessages(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	cause := nats.Header{HeaderTraceparent: {example}}
	completion := Message{DestinationCallback, nats.Header{HeaderTraceparent: {other}}}
	_, span := startTransition(Extract(t.Context(), cause), tracer, DestinationOfRole(subjects.RoleInvoke),
		schedule.Key{Namespace: "default", ID: "nightly"}, Message{}, completion)
	End(span, nil)
	require.Len(t, ended(), 2)
	beside, got := ended()[0], ended()[1]
	assert.Equal(t, "process callback", beside.Name())
	assert.Equal(t, other[36:52], beside.Parent().SpanID().String())
	require.Len(t, beside.Links(), 1)
	assert.Equal(t, got.SpanContext(), beside.Links()[0].SpanContext)
	assert.Equal(t, "nightly", attributesOf(beside)["carillon.schedule.id"])
	assert.Equal(t, "process task.invoke", got.Name())
	assert.Equal(t, trace.SpanKindConsumer, got.SpanKind())
	assert.Equal(t, example[3:35], got.SpanContext().TraceID().String())
	assert.Equal(t, example[36:52], got.Parent().SpanID().String())
	require.Len(t, got.Links(), 1)
	assert.Equal(t, other[3:35], got.Links()[0].SpanContext.TraceID().String())
	assert.Equal(t, map[string]string{
		"messaging.system": "nats", "messaging.operation.name": "process", "messaging.operation.type": "process",
		"messaging.destination.template": "task.invoke", "messaging.batch.message_count": "3",
		"carillon.namespace": "default", "carillon.schedule.id": "nightly",
	}, attributesOf(got))
	assert.Equal(t, codes.Unset, got.Status().Code)
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	messages := make([]Message, 3*maxLinks)
	for i := range messages {
		messages[i].Header = nats.Header{HeaderTraceparent: {fmt.Sprintf("%s%016x-01", other[:36], i+1)}}
	}
	_, span := startTransition(t.Context(), tracer, DestinationOfRole(subjects.RoleInvoke), schedule.Key{}, messages...)
	span.End()
	all := ended()
	require.Len(t, all, len(messages)+1)
	assert.Len(t, all[len(messages)].Links(), maxLinks)
}

func TestAPublishSaysWhere(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	key := schedule.Key{Namespace: "default", ID: "a.b c"}
	subject := subjects.Default().InvokeWake(0, key)
	ctx, span := startPublish(WithTraceparent(t.Context(), example), tracer, subject)
	End(span, fmt.Errorf("publish: %w", nats.ErrTimeout))
	got := ended()[0]
	assert.Equal(t, "publish task.invoke", got.Name())
	assert.Equal(t, trace.SpanKindProducer, got.SpanKind())
	assert.Equal(t, got.SpanContext(), trace.SpanContextFromContext(ctx), "what the message continues")
	assert.Equal(t, map[string]string{
		"messaging.system": "nats", "messaging.operation.name": "publish", "messaging.operation.type": "send",
		"messaging.destination.template": "task.invoke", "messaging.destination.name": subject,
		"carillon.namespace": "default", "carillon.schedule.id": "a.b c", "error.type": "timeout",
	}, attributesOf(got))
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "publish: nats: timeout"}, got.Status())
}

// TestAWaitOfAnHour: the span shows when the wait was, although it is made after the wait.
func TestAWaitOfAnHour(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	due := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	ctx := WithTraceparent(t.Context(), example)
	waited(ctx, tracer, due, due.Add(time.Hour), "overlap")
	waited(ctx, tracer, due, due, "overlap")
	waited(ctx, tracer, due, due.Add(-time.Hour), "overlap")
	waited(ctx, noop.Tracer{}, due, due.Add(time.Hour), "overlap")
	require.Len(t, ended(), 1)
	got := ended()[0]
	assert.Equal(t, "wait", got.Name())
	assert.Equal(t, trace.SpanKindInternal, got.SpanKind())
	assert.Equal(t, due, got.StartTime())
	assert.Equal(t, due.Add(time.Hour), got.EndTime())
	assert.Equal(t, example[36:52], got.Parent().SpanID().String())
	assert.Equal(t, map[string]string{"carillon.wait.reason": "overlap"}, attributesOf(got))
}

// TestWhatIsNotSampledIsNotRecorded: the messages that follow say so too.
func TestWhatIsNotSampledIsNotRecorded(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	ctx := WithTraceparent(t.Context(), example[:53]+"00")
	for _, start := range []func() (context.Context, trace.Span){
		func() (context.Context, trace.Span) { return startProcess(ctx, tracer, DestinationAction) },
		func() (context.Context, trace.Span) { return startPublish(ctx, tracer, "carillon.action.default.q.w") },
		func() (context.Context, trace.Span) {
			return startRequest(ctx, tracer, trace.SpanKindServer, "carillon.api.default.schedule.list")
		},
	} {
		within, span := start()
		assert.False(t, span.IsRecording())
		header := nats.Header{}
		Inject(within, header)
		assert.Equal(t, example[:36], header.Get(HeaderTraceparent)[:36])
		assert.Equal(t, "00", header.Get(HeaderTraceparent)[53:])
		End(span, errors.New("of no interest"))
	}
	assert.Empty(t, ended())
}

// TestWithoutAnExporter: a process that exports nothing passes on the context it was given, and begins no trace.
func TestWithoutAnExporter(t *testing.T) {
	t.Parallel()
	off := noop.NewTracerProvider().Tracer("test")
	starts := map[string]func(context.Context) (context.Context, trace.Span){
		"publish": func(ctx context.Context) (context.Context, trace.Span) {
			return startPublish(ctx, off, "carillon.task.0.generate.default.s.due")
		},
		"process": func(ctx context.Context) (context.Context, trace.Span) {
			return startProcess(ctx, off, DestinationAction)
		},
		"request": func(ctx context.Context) (context.Context, trace.Span) {
			return startRequest(ctx, off, trace.SpanKindServer, "carillon.api.default.schedule.list")
		},
		"http": func(ctx context.Context) (context.Context, trace.Span) { return startHTTP(ctx, off, nil) },
		"transition": func(ctx context.Context) (context.Context, trace.Span) {
			return startTransition(ctx, off, DestinationOfRole(subjects.RoleInvoke), schedule.Key{Namespace: "default", ID: "nightly"})
		},
	}
	for name, start := range starts {
		for _, given := range []string{"", example, example[:53] + "00"} {
			within, span := start(WithTraceparent(t.Context(), given))
			End(span, errors.New("of no interest"))
			assert.Equal(t, given, Traceparent(within), name)
			assert.False(t, span.IsRecording(), name)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	for _, failure := range []*schedule.Error{
		schedule.Errorf(schedule.CodeNotFound, "no schedule x"), schedule.Errorf(schedule.CodeInternal, "a bug"),
	} {
		_, span := startRequest(t.Context(), tracer, trace.SpanKindServer, "carillon.api.default.schedule.describe")
		Refused(span, failure)
		span.End()
	}
	require.Len(t, ended(), 2)
	got := ended()[0]
	assert.Equal(t, "schedule.describe", got.Name())
	assert.Equal(t, trace.SpanKindServer, got.SpanKind())
	assert.Equal(t, map[string]string{
		"rpc.system": "nats", "rpc.service": "carillon.schedule", "rpc.method": "describe", "carillon.namespace": "default",
		"error.type": "not_found",
	}, attributesOf(got))
	assert.Equal(t, codes.Unset, got.Status().Code, "the mistake is that of the caller")
	assert.Equal(t, codes.Error, ended()[1].Status().Code)
	for subject, want := range map[string][2]string{
		"odd": {"", "request"}, "carillon.other.default.a.b": {"", "request"}, "carillon.execution.3.default.start": {"default", "execution.start"},
	} {
		namespace, name := splitRequest(subject)
		assert.Equal(t, want, [2]string{namespace, name}, subject)
	}
}

func TestRPCs(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	_, span := startRPC(t.Context(), tracer, "/temporal.Service/Method", "default")
	span.End()
	got := ended()[0]
	assert.Equal(t, "temporal.Service/Method", got.Name())
	assert.Equal(t, trace.SpanKindServer, got.SpanKind())
	assert.Equal(t, map[string]string{
		"rpc.system": "grpc", "rpc.service": "temporal.Service", "rpc.method": "Method", "carillon.namespace": "default",
	}, attributesOf(got))
	off := noop.NewTracerProvider().Tracer("")
	_, span = startRPC(t.Context(), off, "/temporal.Service/Method", "default")
	assert.False(t, span.IsRecording())
}

// TestHTTPRequestsKeepSecrets: spans show no part of a URL that may be secret.
func TestHTTPRequestsKeepSecrets(t *testing.T) {
	t.Parallel()
	tracer, ended := recorded()
	request, err := http.NewRequestWithContext(t.Context(), "BREW", "https://ann:pw@example.com:8443/a/b?token=t#f", nil)
	require.NoError(t, err)
	_, span := startHTTP(t.Context(), tracer, request)
	HTTPAnswered(span, &http.Response{StatusCode: http.StatusTeapot, Status: "418 I'm a teapot"}, nil)
	span.End()
	got := ended()[0]
	assert.Equal(t, "HTTP", got.Name())
	assert.Equal(t, trace.SpanKindClient, got.SpanKind())
	assert.Equal(t, map[string]string{
		"http.request.method": "_OTHER", "url.full": "https://example.com:8443/a/b", "server.address": "example.com",
		"server.port": "8443", "http.response.status_code": "418", "error.type": "418",
	}, attributesOf(got))
}

func TestErrorTypesAreFew(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"timeout":             fmt.Errorf("read: %w", context.DeadlineExceeded),
		"canceled":            fmt.Errorf("read: %w", context.Canceled),
		"not_found":           fmt.Errorf("read: %w", schedule.Errorf(schedule.CodeNotFound, "no schedule x")),
		"*errors.errorString": fmt.Errorf("read: %w", errors.New("x")),
	} {
		assert.Equal(t, want, errorType(err))
	}
}

// TestAttributesAreNamedAlike: all of Carillon's own attributes have one prefix and one form.
func TestAttributesAreNamedAlike(t *testing.T) {
	t.Parallel()
	for _, key := range []attribute.Key{
		AttributeNamespace, AttributeScheduleID, AttributeRunID, AttributeWorkflowID, AttributeActionType, AttributeNominalTime,
		AttributeDueTime, AttributeOverlapPolicy, AttributeTaskQueue, AttributeAttempt, AttributeStatus, AttributeSource,
		AttributeStarts, AttributeWakeReason, AttributeWaitReason, AttributeReason, AttributeRetryDelay,
	} {
		assert.Regexp(t, `^carillon(\.[a-z]+(_[a-z]+)*)+$`, string(key))
	}
}
