package sdk

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// describe says which process spans and metrics are from. The environment wins over what the process knows of itself.
func describe(ctx context.Context, o Options) (*resource.Resource, error) {
	own, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithProcessPID(),
		resource.WithAttributes(
			semconv.ServiceName(o.Service), semconv.ServiceVersion(o.Version), semconv.ServiceInstanceID(uuid.NewString()),
		),
	)
	if err != nil {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	given, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: use NAME=VALUE, separated by commas: %w", err)
	}
	return resource.Merge(own, given)
}
