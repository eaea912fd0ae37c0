package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkTurn takes and gives back the turn of an execution that nobody else wants, in a process that exports its metrics.
func BenchmarkTurn(b *testing.B) {
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader())))
	b.Cleanup(func() { otel.SetMeterProvider(before) })
	s := &Service{config: Config{Now: time.Now, Shards: 1}, slots: newSlots(1, 1<<20), working: make(chan struct{}, concurrency)}
	key := schedule.Key{Namespace: "default", ID: "w"}
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, s.with(b.Context(), key, func(*slot) error { return nil }))
	}
}
