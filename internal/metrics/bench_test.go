package metrics_test

import (
	"testing"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// BenchmarkRecord measures a process that exports metrics. One that does not needs a few nanoseconds.
func BenchmarkRecord(b *testing.B) {
	for name, record := range map[string]func(){
		"counter":   func() { metrics.Started.Add(b.Context(), 1, "default", "reports", metrics.SourceAutomatic) },
		"histogram": func() { metrics.Lateness.RecordTime(b.Context(), 1, "default", "reports") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				record()
			}
		})
	}
}
