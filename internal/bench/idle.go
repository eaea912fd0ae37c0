package bench

import (
	"context"
	"time"
)

func idleScenario() Scenario {
	return Scenario{
		Name:     "idle",
		Short:    "N dormant schedules, and nothing to do",
		Takes:    []string{ParamSchedules, ParamDuration},
		Defaults: Parameters{Schedules: 100_000, Duration: Seconds(10 * time.Second)},
		measure:  measureIdle,
	}
}

func measureIdle(ctx context.Context, s *session) error {
	created, err := s.createDormant(ctx, s.Schedules)
	if err != nil {
		return err
	}
	from, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "idle", time.Now().Add(time.Duration(s.Duration))); err != nil {
		return err
	}
	_, err = s.end(ctx, from)
	s.result.Rates = map[string]Rate{"created": Rate(float64(s.Schedules) / created.Seconds())}
	return err
}
