package sdk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/telemetry/sdk"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// setup installs what the environment says until the end of the test. The tests that call it are not parallel: they change
// the environment and the providers of the process.
func setup(t *testing.T, o sdk.Options) *sdk.Telemetry {
	t.Helper()
	o.Service, o.Version, o.Logger = "carillon-test", "v1.2.3", natstest.Logger(t)
	installed, err := sdk.Setup(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = installed.Shutdown(context.Background()) })
	return installed
}

func TestSetupWithoutAnExporter(t *testing.T) {
	for name, c := range map[string]struct {
		environment                map[string]string
		begins, recording, sampled bool
	}{
		"nothing":    {},
		"always on":  {environment: map[string]string{"OTEL_TRACES_SAMPLER": "always_on"}, begins: true, recording: true, sampled: true},
		"always off": {environment: map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}, begins: true},
		"none": {environment: map[string]string{
			"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_METRICS_EXPORTER": "none",
		}},
		"disabled": {environment: map[string]string{
			"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_SAMPLER": "always_on",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range c.environment {
				t.Setenv(variable, value)
			}
			installed := setup(t, sdk.Options{})
			assert.Nil(t, installed.Metrics())
			ctx, span := telemetry.Tracer().Start(t.Context(), "test")
			defer span.End()
			assert.Equal(t, c.begins, span.SpanContext().IsValid())
			assert.Equal(t, c.recording, span.IsRecording())
			assert.Equal(t, c.sampled, span.SpanContext().IsSampled())
			assert.Equal(t, c.begins, telemetry.Traceparent(ctx) != "")
			require.NoError(t, installed.Shutdown(t.Context()))
		})
	}
}

func TestSetupNamesTheVariableAtFault(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, want string }{
		"exporter": {"OTEL_TRACES_EXPORTER", "foo", `OTEL_TRACES_EXPORTER: "foo" is not known: use one of otlp, console, none`},
		"attributes": {"OTEL_RESOURCE_ATTRIBUTES", "team",
			"OTEL_RESOURCE_ATTRIBUTES: use NAME=VALUE, separated by commas: error detecting resource: partial resource: " +
				"missing value: [team]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			_, err := sdk.Setup(t.Context(), sdk.Options{Service: "carillon-test", Metrics: true, Logger: natstest.Logger(t)})
			assert.EqualError(t, err, c.want)
		})
	}
}
