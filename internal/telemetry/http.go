package telemetry

import (
	"context"
	"net/http"
	"strconv"

	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// StartHTTP begins the span of an HTTP request that is about to be made. The caller ends it. A process that exports no spans
// makes none.
func StartHTTP(ctx context.Context, request *http.Request) (context.Context, trace.Span) {
	return startHTTP(ctx, Tracer(), request)
}

func startHTTP(ctx context.Context, tracer trace.Tracer, request *http.Request) (context.Context, trace.Span) {
	if isOff(tracer) {
		return ctx, noop.Span{}
	}
	name, method := nameHTTP(request.Method)
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		at := *request.URL
		at.User, at.RawQuery, at.Fragment = nil, "", "" // these may contain secrets
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.URLFull(at.String()),
			semconv.ServerAddress(at.Hostname()))
		if port, err := strconv.Atoi(at.Port()); err == nil {
			span.SetAttributes(semconv.ServerPort(port))
		}
	}
	return ctx, span
}

// nameHTTP returns the name of the span for a method, and the method as the span gives it. Methods that HTTP does not define
// share one name, because any number of them may be made up.
func nameHTTP(method string) (name, given string) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method, method
	}
	return "HTTP", "_OTHER"
}

// HTTPAnswered records the result of a request in its span.
func HTTPAnswered(span trace.Span, response *http.Response, err error) {
	switch {
	case !span.IsRecording():
	case err != nil:
		Fail(span, errorType(err), "the request failed") // the text of the error has the whole URL
	default:
		span.SetAttributes(semconv.HTTPResponseStatusCode(response.StatusCode))
		if response.StatusCode >= http.StatusBadRequest {
			Fail(span, strconv.Itoa(response.StatusCode), response.Status)
		}
	}
}
