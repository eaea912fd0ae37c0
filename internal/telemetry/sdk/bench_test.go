package sdk_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/telemetry/sdk"
	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkStartTransition: the span of a transition in a process of Carillon's own.
func BenchmarkStartTransition(b *testing.B) {
	installed, err := sdk.Setup(b.Context(), sdk.Options{Service: "carillon-test", Version: "test"})
	require.NoError(b, err)
	defer func() { require.NoError(b, installed.Shutdown(context.WithoutCancel(b.Context()))) }()
	key := schedule.Key{Namespace: "default", ID: "daily-report"}
	header := nats.Header{
		nats.MsgIdHdr: {"4711"}, telemetry.HeaderTraceparent: {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
	}
	b.ReportAllocs()
	for b.Loop() {
		_, span := telemetry.StartTransition(b.Context(), "invoke", key, header)
		span.End()
	}
}
