package schedule_test

import (
	"testing"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkValidate: what the API does with every schedule that is created or updated.
func BenchmarkValidate(b *testing.B) {
	small := schedule.CreateRequest{ID: "daily-report", Schedule: scheduletest.SmallSchedule()}
	full := schedule.CreateRequest{ID: "daily-report", Schedule: scheduletest.Schedule()}
	named := scheduletest.Named()
	for name, request := range map[string]schedule.CreateRequest{"small": small, "full": full} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = request.Schedule.Spec.ValidateWith(named)
			}
		})
	}
}
