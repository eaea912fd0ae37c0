package sdk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/telemetry/sdk"
)

// TestSetup is not parallel: it replaces the provider of the process.
func TestSetup(t *testing.T) {
	for _, c := range []struct {
		sampler            string
		recording, sampled bool
	}{
		{sampler: "", recording: false, sampled: true},
		{sampler: "always_on", recording: true, sampled: true},
		{sampler: "always_off", recording: false, sampled: false},
	} {
		t.Run(c.sampler, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", c.sampler)
			shutdown, err := sdk.Setup(t.Context(), "carillon-test", "test")
			require.NoError(t, err)
			ctx, span := telemetry.Tracer().Start(t.Context(), "test")
			defer span.End()
			assert.True(t, span.SpanContext().IsValid())
			assert.Equal(t, c.recording, span.IsRecording())
			assert.Equal(t, c.sampled, span.SpanContext().IsSampled())
			assert.NotEmpty(t, telemetry.Traceparent(ctx))
			require.NoError(t, shutdown(context.WithoutCancel(t.Context())))
		})
	}
}
