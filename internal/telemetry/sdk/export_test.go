package sdk_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/telemetry/sdk"
)

// collector receives what is exported by OTLP over HTTP.
type collector struct {
	url     string
	traces  chan *collectortrace.ExportTraceServiceRequest
	metrics chan *collectormetrics.ExportMetricsServiceRequest
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{
		traces:  make(chan *collectortrace.ExportTraceServiceRequest, 10),
		metrics: make(chan *collectormetrics.ExportMetricsServiceRequest, 10),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		request := &collectortrace.ExportTraceServiceRequest{}
		if decode(w, r, request) {
			c.traces <- request
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		request := &collectormetrics.ExportMetricsServiceRequest{}
		if decode(w, r, request) {
			c.metrics <- request
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// decode reads a request. One that cannot be read is answered.
func decode(w http.ResponseWriter, r *http.Request, into proto.Message) bool {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, into)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func TestSpansAndMetricsAreExported(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.url)
	t.Setenv("OTEL_SERVICE_NAME", "named")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.instance.id=one")
	installed := setup(t, sdk.Options{})
	_, span := telemetry.Tracer().Start(t.Context(), "exported")
	span.End()
	counter, err := otel.GetMeterProvider().Meter("test").Int64Counter("test.counted")
	require.NoError(t, err)
	counter.Add(t.Context(), 1)
	require.NoError(t, installed.Shutdown(t.Context()), "it flushes")

	traces := (<-c.traces).GetResourceSpans()
	require.Len(t, traces, 1)
	sent := traces[0].GetScopeSpans()[0].GetSpans()[0]
	assert.Equal(t, "exported", sent.GetName())
	traceID := span.SpanContext().TraceID()
	assert.Equal(t, traceID[:], sent.GetTraceId())
	attributes := textsOf(traces[0].GetResource().GetAttributes())
	assert.Equal(t, "named", attributes["service.name"], "the environment wins")
	assert.Equal(t, "one", attributes["service.instance.id"])
	assert.Equal(t, "test", attributes["deployment.environment.name"])
	assert.Equal(t, "v1.2.3", attributes["service.version"])
	assert.NotEmpty(t, attributes["host.name"])
	assert.Contains(t, attributes, "process.pid")

	metrics := (<-c.metrics).GetResourceMetrics()
	require.Len(t, metrics, 1)
	assert.Equal(t, "test.counted", metrics[0].GetScopeMetrics()[0].GetMetrics()[0].GetName())
}

func textsOf(attributes []*commonpb.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, attribute := range attributes {
		texts[attribute.GetKey()] = attribute.GetValue().GetStringValue()
	}
	return texts
}

// traceService receives spans by gRPC.
type traceService struct {
	collectortrace.UnimplementedTraceServiceServer
	received chan *collectortrace.ExportTraceServiceRequest
}

func (s *traceService) Export(
	_ context.Context, request *collectortrace.ExportTraceServiceRequest,
) (*collectortrace.ExportTraceServiceResponse, error) {
	s.received <- request
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

func TestSpansAreExportedByGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	service := &traceService{received: make(chan *collectortrace.ExportTraceServiceRequest, 1)}
	server := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(server, service)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		assert.NoError(t, <-served)
	}()
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	installed := setup(t, sdk.Options{})
	_, span := telemetry.Tracer().Start(t.Context(), "exported")
	span.End()
	require.NoError(t, installed.Shutdown(t.Context()))
	request := <-service.received
	assert.Equal(t, "exported", request.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName())
}

// TestNotSampledIsNotExported has the SDK ask the sampler of the environment.
func TestNotSampledIsNotExported(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.url+"/v1/traces")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	installed := setup(t, sdk.Options{})
	_, span := telemetry.Tracer().Start(t.Context(), "left out")
	span.End()
	assert.False(t, span.SpanContext().IsSampled())
	require.NoError(t, installed.Shutdown(t.Context()))
	assert.Empty(t, c.traces)
	assert.Empty(t, c.metrics, "no endpoint for metrics")
}

// TestShutdownDoesNotWaitForADeadCollector has one that takes requests and never answers.
func TestShutdownDoesNotWaitForADeadCollector(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer server.Close()
	defer close(release)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	installed := setup(t, sdk.Options{})
	_, span := telemetry.Tracer().Start(t.Context(), "lost")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, installed.Shutdown(ctx), context.DeadlineExceeded)
	<-asked
}

// TestMetricsAreShown as Prometheus asks for them, with those of the process.
func TestMetricsAreShown(t *testing.T) {
	installed := setup(t, sdk.Options{Metrics: true})
	meter := otel.GetMeterProvider().Meter("test")
	counter, err := meter.Int64Counter("test.counted")
	require.NoError(t, err)
	counter.Add(t.Context(), 3)

	answer := httptest.NewRecorder()
	installed.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(answer.Body.String()))
	require.NoError(t, err, answer.Body.String())
	counted := families["test_counted_total"].GetMetric()
	require.Len(t, counted, 1)
	assert.InDelta(t, 3, counted[0].GetCounter().GetValue(), 0)
	assert.Empty(t, counted[0].GetLabel(), "no label for the scope")
	for _, name := range []string{"target_info", "go_goroutines", "process_start_time_seconds"} {
		assert.Contains(t, families, name)
	}
	require.NoError(t, installed.Shutdown(t.Context()))
}

// TestNoNamespaceIsLostAmongMany: the SDK would put what is beyond 2,000 series into one that says nothing of namespaces.
func TestNoNamespaceIsLostAmongMany(t *testing.T) {
	installed := setup(t, sdk.Options{Metrics: true})
	counter, err := otel.GetMeterProvider().Meter("test").Int64Counter("test.many")
	require.NoError(t, err)
	const series = 5000
	for i := range series {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("namespace", i)))
	}
	answer := httptest.NewRecorder()
	installed.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Equal(t, series, strings.Count(answer.Body.String(), "test_many_total{namespace="))
	assert.NotContains(t, answer.Body.String(), "overflow")
	require.NoError(t, installed.Shutdown(t.Context()))
}
