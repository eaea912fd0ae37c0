// Package sdk installs what makes and exports spans and metrics in a process of Carillon's own: the OpenTelemetry SDK where it
// has a say, and else what does without. It stands apart from package telemetry so that a worker of somebody else's does not
// carry the SDK along.
//
// What is exported, where to and how is said by the environment variables of OpenTelemetry, which docs/observability.md
// lists. A process that exports nothing keeps nothing: its spans get valid identifiers, so that traces connect across
// processes, and its metrics are not counted.
//
// The package imports nothing of Carillon.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
)

// flushLimit bounds how long the end of a process waits for what is left to export, where the other side does not answer.
const flushLimit = 2 * time.Second

// Options say what a process is.
type Options struct {
	// Service is the name of the process among others, such as "carillon-generator", and Version that of the program. The
	// variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over both.
	Service, Version string
	// Metrics says that metrics are kept for [Telemetry.Metrics] to show.
	Metrics bool
	// Logger is told of what cannot be exported, once in a while; slog.Default() by default.
	Logger *slog.Logger
}

// Telemetry is what [Setup] has installed. It is safe for concurrent use.
type Telemetry struct {
	metrics http.Handler
	// shutdowns flush and close what has been installed.
	shutdowns []func(context.Context) error
}

// Setup installs the providers and the W3C propagator for this process. There is one of each for a process, and so the next
// call replaces what the last has installed. An error names the environment variable at fault, and what it may say.
func Setup(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(newErrorLog(o.Logger, time.Now)) //permit:time.Now tests replace it
	otel.SetLogger(logr.FromSlogHandler(o.Logger.Handler()))
	settings, err := readSettings(os.Getenv)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{}
	if err := t.install(ctx, o, settings); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

// install makes the providers that the settings ask for. What it has made before an error is in t.
func (t *Telemetry) install(ctx context.Context, o Options, s settings) error {
	var described *sdkresource.Resource
	if s.sdk() || o.Metrics {
		var err error
		if described, err = describe(ctx, o); err != nil {
			return err
		}
	}
	if err := t.installTraces(ctx, s, described); err != nil {
		return fmt.Errorf("export traces: %w", err)
	}
	if err := t.installMetrics(ctx, o, s, described); err != nil {
		return fmt.Errorf("export metrics: %w", err)
	}
	return nil
}

// Metrics shows the metrics of the process in the format of Prometheus, at the moment of each request. It is nil without
// [Options].Metrics.
func (t *Telemetry) Metrics() http.Handler { return t.metrics }

// Shutdown exports what is left, and closes all exporters. It takes 2 s at most, and less if ctx ends before: what has not
// been taken by then is lost. The error says so.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	failures := make([]error, len(t.shutdowns))
	var all sync.WaitGroup
	for i, shutdown := range t.shutdowns {
		all.Go(func() { failures[i] = shutdown(ctx) })
	}
	all.Wait()
	return errors.Join(failures...)
}
