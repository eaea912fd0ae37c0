package telemetry

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
)

const example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraceparentRoundTrip(t *testing.T) {
	t.Parallel()
	ctx := WithTraceparent(t.Context(), example)
	assert.Equal(t, example, Traceparent(ctx))
	span := trace.SpanContextFromContext(ctx)
	assert.True(t, span.IsRemote())
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", span.TraceID().String())
}

func TestTraceparentWithoutTrace(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Traceparent(t.Context()))
	for _, text := range []string{"", "garbage", "00-0-0-01", example + "-more"} {
		assert.Empty(t, Traceparent(WithTraceparent(t.Context(), text)), text)
	}
}

func TestHeadersRoundTrip(t *testing.T) {
	t.Parallel()
	header := nats.Header{}
	Inject(WithTraceparent(t.Context(), example), header)
	assert.Equal(t, nats.Header{HeaderTraceparent: {example}}, header)
	assert.Equal(t, example, Traceparent(Extract(t.Context(), header)))
}

func TestInjectWithoutTraceWritesNothing(t *testing.T) {
	t.Parallel()
	header := nats.Header{}
	Inject(t.Context(), header)
	assert.Empty(t, header)
}

func TestExtractIsLenient(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Traceparent(Extract(t.Context(), nil)))
	canonical := nats.Header{"Traceparent": {example}}
	assert.Equal(t, example, Traceparent(Extract(t.Context(), canonical)))
}

func TestTracestateTravels(t *testing.T) {
	t.Parallel()
	in := nats.Header{HeaderTraceparent: {example}, HeaderTracestate: {"vendor=1"}}
	out := nats.Header{}
	Inject(Extract(t.Context(), in), out)
	assert.Equal(t, in, out)
}
