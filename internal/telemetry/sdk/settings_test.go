package sdk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// environment is one of a test.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func TestReadSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environment environment
		want        settings
	}{
		"nothing":        {nil, settings{}},
		"exporters":      {environment{tracesVariable: "console", metricsVariable: "otlp"}, settings{traces: true, metrics: true}},
		"endpoint":       {environment{endpointVariable: "http://collector:4318"}, settings{traces: true, metrics: true}},
		"of traces only": {environment{tracesEndpointVariable: "https://collector/v1/traces"}, settings{traces: true}},
		"not of traces":  {environment{endpointVariable: "http://collector:4318", tracesVariable: "none"}, settings{metrics: true}},
		"disabled":       {environment{disabledVariable: "TRUE", tracesVariable: "foo"}, settings{}},
		"sampler": {
			environment{samplerVariable: "ParentBased_TraceIdRatio", samplerArgVariable: "0.25"}, settings{sampler: true},
		},
		"other argument": {environment{samplerVariable: "always_on", samplerArgVariable: "ignored"}, settings{sampler: true}},
		"socket of gRPC": {
			environment{endpointVariable: "unix:///run/collector.sock", protocolVariable: "grpc"}, settings{traces: true, metrics: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readSettings(c.environment.get)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestReadSettingsNamesTheVariable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environment environment
		want        string
	}{
		{environment{disabledVariable: "yes"}, `OTEL_SDK_DISABLED: "yes" is not known: use one of true, false`},
		{environment{tracesVariable: "foo"}, `OTEL_TRACES_EXPORTER: "foo" is not known: use one of otlp, console, none`},
		{environment{metricsVariable: "x"}, `OTEL_METRICS_EXPORTER: "x" is not known: use one of otlp, console, prometheus, none`},
		{environment{protocolVariable: "http/json"}, `OTEL_EXPORTER_OTLP_PROTOCOL: "http/json"` + noProtocol},
		{environment{tracesProtocolVariable: "http"}, `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http"` + noProtocol},
		{environment{metricsProtocolVariable: "x"}, `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "x"` + noProtocol},
		{environment{samplerVariable: "half"}, `OTEL_TRACES_SAMPLER: "half"` + noSampler},
		{ratio("1.5"), `OTEL_TRACES_SAMPLER_ARG: "1.5"` + noShare},
		{ratio("NaN"), `OTEL_TRACES_SAMPLER_ARG: "NaN"` + noShare},
		{ratio("10%"), `OTEL_TRACES_SAMPLER_ARG: "10%"` + noShare},
		{environment{endpointVariable: "localhost:4318"}, `OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318"` + noURL},
		{environment{tracesEndpointVariable: "127.0.0.1:1"}, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "127.0.0.1:1"` + noURL},
		{environment{metricsEndpointVariable: "unix:///sock"}, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "unix:///sock"` + noURL},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			_, err := readSettings(c.environment.get)
			assert.EqualError(t, err, c.want)
		})
	}
}

const (
	noURL      = " is not the URL of a collector: use http://HOST:PORT or https://HOST:PORT"
	noProtocol = " is not known: use one of http/protobuf, grpc"
	noShare    = " is not a share of all traces: use a number from 0 to 1"
	noSampler  = " is not known: use one of always_on, always_off, traceidratio, parentbased_always_on, " +
		"parentbased_always_off, parentbased_traceidratio"
)

func ratio(arg string) environment {
	return environment{samplerVariable: "traceidratio", samplerArgVariable: arg}
}
