package apitext

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkDecodeJSON reads a create request as strictly as the API does.
func BenchmarkDecodeJSON(b *testing.B) {
	text, err := EncodeJSON(schedule.CreateRequest{ID: "daily-report", Schedule: scheduletest.SmallSchedule()})
	require.NoError(b, err)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_ = DecodeJSON(text, new(schedule.CreateRequest))
	}
}
