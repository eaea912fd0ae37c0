package bench

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

func steadyScenario() Scenario {
	return Scenario{
		Name:  "steady",
		Short: "N schedules that are due every interval",
		Takes: []string{ParamSchedules, ParamInterval, ParamWarmup, ParamDuration, ParamOverlap, ParamDormant, ParamResult},
		Defaults: Parameters{
			Schedules: 200, Interval: Seconds(time.Second), Warmup: Seconds(3 * time.Second),
			Duration: Seconds(20 * time.Second), Overlap: schedule.OverlapAllowAll,
		},
		measure: measureSteady,
	}
}

func measureSteady(ctx context.Context, s *session) error {
	if s.Dormant > 0 {
		if _, err := s.createDormant(ctx, s.Dormant); err != nil {
			return err
		}
	}
	_, err := s.offer(ctx, load{
		schedules: s.Schedules, interval: time.Duration(s.Interval), overlap: s.Overlap, name: benchID,
		warmup: time.Duration(s.Warmup), duration: time.Duration(s.Duration),
	})
	return err
}
