// Package sdk installs what makes spans in a process of Carillon's own: the OpenTelemetry SDK where it has a say, and else
// what does without. It stands apart from package telemetry so that a worker of somebody else's does not carry the SDK along.
package sdk

import (
	"context"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
)

// samplerVariable chooses the sampler of the SDK. It decides about the flags that other processes see.
const samplerVariable = "OTEL_TRACES_SAMPLER"

// Setup installs a tracer provider and the W3C propagator for this process, and returns what flushes and closes them.
// There is no exporter yet: spans get valid identifiers, so that traces connect across processes, and go nowhere. What would
// go with them is therefore not recorded, unless there is a sampler to ask.
func Setup(ctx context.Context, serviceName, serviceVersion string) (shutdown func(context.Context) error, err error) {
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	if os.Getenv(samplerVariable) == "" {
		otel.SetTracerProvider(telemetry.Unrecorded())
		return func(context.Context) error { return nil }, nil
	}
	provider, err := newProvider(ctx, serviceName, serviceVersion)
	if err != nil {
		return nil, err
	}
	otel.SetTracerProvider(provider)
	return provider.Shutdown, nil
}

func newProvider(ctx context.Context, serviceName, serviceVersion string) (*sdktrace.TracerProvider, error) {
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(serviceName), semconv.ServiceVersion(serviceVersion)),
	)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithResource(described)), nil
}
