package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The limits of a namespace that [CountRefused] tells apart.
const (
	LimitRequests  = "requests"
	LimitSchedules = "schedules"
)

var (
	namespaceRequests = sync.OnceValue(func() metric.Int64Counter {
		meter := otel.Meter("github.com/carillon-scheduler/carillon")
		// The instrument is usable even where its creation reports an error.
		counter, _ := meter.Int64Counter("carillon.namespace.requests", metric.WithUnit("{request}"),
			metric.WithDescription("Requests that the limits of their namespace let through, by namespace."))
		return counter
	})
	namespaceRefused = sync.OnceValue(func() metric.Int64Counter {
		meter := otel.Meter("github.com/carillon-scheduler/carillon")
		counter, _ := meter.Int64Counter("carillon.namespace.refused", metric.WithUnit("{request}"),
			metric.WithDescription("Requests that a limit of their namespace has refused, by namespace and limit."))
		return counter
	})
)

// CountRequest counts a request that the limits of its namespace let through. The namespace exists: there are as many series
// as namespaces. Nothing is counted until the process sets a meter provider.
func CountRequest(ctx context.Context, namespace string) {
	counter := namespaceRequests()
	if !counter.Enabled(ctx) {
		return // the attributes cost more than all the rest
	}
	counter.Add(ctx, 1, metric.WithAttributes(attribute.String("namespace", namespace)))
}

// CountRefused counts a request that a limit of its namespace has refused, as CountRequest does.
func CountRefused(ctx context.Context, namespace, limit string) {
	counter := namespaceRefused()
	if !counter.Enabled(ctx) {
		return
	}
	counter.Add(ctx, 1, metric.WithAttributes(attribute.String("namespace", namespace), attribute.String("limit", limit)))
}
