package bench

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

func backfillScenario() Scenario {
	return Scenario{
		Name:     "backfill",
		Short:    "N actions of the past, from the request to the last completion",
		Takes:    []string{ParamActions, ParamSchedules, ParamOverlap, ParamResult},
		Defaults: Parameters{Actions: 10_000, Schedules: 1, Overlap: schedule.OverlapAllowAll},
		measure:  measureBackfill,
	}
}

func measureBackfill(ctx context.Context, s *session) error {
	// The schedules have only a past.
	const every = time.Minute
	first := time.Now().Add(-time.Duration(s.Actions) * every).Truncate(every)
	last := first.Add(time.Duration(s.Actions-1) * every)
	what := work(schedule.Spec{
		Intervals: []schedule.Interval{phased(every, first)}, EndTime: last,
	}, s.Overlap)
	if err := s.create(ctx, "creating schedules", s.Schedules, benchID, what); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	ledger := newLedger()
	due := time.Now()
	for i := range s.Schedules {
		ledger.expect(benchID(i), backfilled(first, every, s.Actions, due)...)
	}
	s.follow(ledger)
	return s.burst(ctx, ledger, due, func() error {
		return s.forEach(ctx, "asking", s.Schedules, func(ctx context.Context, i int) error {
			_, err := s.client.Backfill(ctx, schedule.BackfillRequest{
				ID: benchID(i), BackfillRange: schedule.BackfillRange{Start: first, End: last, Overlap: s.Overlap},
			})
			return err
		})
	})
}

// backfilled are the actions of a backfill. They count as due when the backfill is asked for: their nominal times are long
// past.
func backfilled(first time.Time, every time.Duration, n int, due time.Time) []entry {
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = entry{nominal: first.Add(time.Duration(i) * every), due: due}
	}
	return entries
}
