package telemetry

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
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
	canonical["Tracestate"] = []string{"vendor=1"}
	span := trace.SpanContextFromContext(Extract(t.Context(), canonical))
	assert.Equal(t, "vendor=1", span.TraceState().String())
}

func TestTracestateTravels(t *testing.T) {
	t.Parallel()
	in := nats.Header{HeaderTraceparent: {example}, HeaderTracestate: {"vendor=1"}}
	out := nats.Header{}
	Inject(Extract(t.Context(), in), out)
	assert.Equal(t, in, out)
}

// A traceparent written directly into headers reads the same as one that went through Inject, for any text.
func TestInjectTraceparentIsInject(t *testing.T) {
	t.Parallel()
	within := WithTraceparent(t.Context(), "00-11111111111111111111111111111111-2222222222222222-00")
	exact := rapid.StringMatching(`(00|00|01|fe|ff)-(0{32}|[0-9a-f]{32}|[0-9a-fA-F]{32})-(0{16}|[0-9a-f]{16})-(0[0-9]|[0-9a-f]{2})(|-x)`)
	broken := rapid.Custom(func(t *rapid.T) string {
		text := []byte(exact.Draw(t, "exact"))
		text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		return string(text)
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(exact, exact, broken, rapid.Just(""), rapid.String()).Draw(t, "text")
		want, got := nats.Header{}, nats.Header{}
		Inject(WithTraceparent(within, text), want)
		InjectTraceparent(within, text, got)
		require.Equal(t, want, got)
	})
}

func TestInjectTraceparentLeavesOutTheTracestate(t *testing.T) {
	t.Parallel()
	within := Extract(t.Context(), nats.Header{HeaderTraceparent: {example}, HeaderTracestate: {"vendor=1"}})
	header := nats.Header{}
	InjectTraceparent(within, "00-11111111111111111111111111111111-2222222222222222-00", header)
	assert.Equal(t, nats.Header{HeaderTraceparent: {"00-11111111111111111111111111111111-2222222222222222-00"}}, header)
}
