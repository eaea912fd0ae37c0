package sdk

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
)

// exemplarVariable says which measurements go along with the trace that they are from.
const exemplarVariable = "OTEL_METRICS_EXEMPLAR_FILTER"

const (
	// maxSeries is how many series an instrument may have. What is beyond, the SDK puts into one without any attribute, where the sum over
	// a namespace has it no more. So this is above what there can be: 1,000 task queues with four statuses (metrics.Queues), and
	// eight reasons for each of 1,500 namespaces, which only operators make.
	maxSeries = 16_384
	// maxSeriesVariable is where an operator may set another limit.
	maxSeriesVariable = "OTEL_GO_X_CARDINALITY_LIMIT"
)

// installMetrics installs a meter provider if anybody reads metrics. Without one they cost nothing.
func (t *Telemetry) installMetrics(ctx context.Context, o Options, s settings, described *resource.Resource) error {
	if !o.Metrics && !s.metrics {
		return nil
	}
	options := []metric.Option{metric.WithResource(described)}
	if !s.traces && os.Getenv(exemplarVariable) == "" {
		options = append(options, metric.WithExemplarFilter(exemplar.AlwaysOffFilter)) // of traces that nobody has
	}
	if os.Getenv(maxSeriesVariable) == "" {
		options = append(options, metric.WithCardinalityLimit(maxSeries))
	}
	if o.Metrics {
		reader, handler, err := newPrometheus(o.Logger)
		if err != nil {
			return err
		}
		t.metrics = handler
		options = append(options, metric.WithReader(reader))
	}
	if s.metrics {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(reader))
	}
	provider := metric.NewMeterProvider(options...)
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
	otel.SetMeterProvider(provider)
	return nil
}

// newPrometheus returns a reader of metrics, and what shows them together with those of the Go runtime and the process. The
// names are those of docs/metrics.md: with underscores, units and _total, and without the scope, which would be a label of
// every series and says nothing that the name does not.
func newPrometheus(log *slog.Logger) (metric.Reader, http.Handler, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprometheus.New(
		otelprometheus.WithRegisterer(registry),
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		otelprometheus.WithoutScopeInfo(),
	)
	if err != nil {
		return nil, nil, err
	}
	return exporter, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		// A series that cannot be shown must not take all others with it.
		ErrorHandling:     promhttp.ContinueOnError,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		EnableOpenMetrics: true,
	}), nil
}
