package sdk

import (
	"context"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// installTraces installs a tracer provider. Where no span is exported there are none, unless there is a sampler to ask. The
// SDK reads from the environment which sampler that is.
func (t *Telemetry) installTraces(ctx context.Context, s settings, described *resource.Resource) error {
	if !s.traces && !s.sampler {
		otel.SetTracerProvider(noop.NewTracerProvider())
		return nil
	}
	options := []trace.TracerProviderOption{trace.WithResource(described)}
	if s.traces {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return err
		}
		options = append(options, trace.WithBatcher(exporter))
	}
	provider := trace.NewTracerProvider(options...)
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
	otel.SetTracerProvider(provider)
	return nil
}
