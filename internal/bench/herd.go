package bench

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

func herdScenario() Scenario {
	return Scenario{
		Name:     "herd",
		Short:    "N schedules that are due in the same second, once",
		Takes:    []string{ParamSchedules},
		Defaults: Parameters{Schedules: 10_000},
		measure:  measureHerd,
	}
}

func measureHerd(ctx context.Context, s *session) error {
	ledger := newLedger()
	s.follow(ledger)
	t, err := s.prepare(ctx, load{
		schedules: s.Schedules, interval: time.Hour, overlap: schedule.OverlapAllowAll, name: benchID, together: true,
	}, ledger)
	if err != nil {
		return err
	}
	at := t.all.from
	if err := s.until(ctx, "waiting until it is due", at.Add(-timerLead)); err != nil {
		return err
	}
	s.result.Offered = Rate(s.Schedules) // all in one second
	return s.burst(ctx, ledger, at, func() error { return nil })
}

// timerLead is how long before a time its timer fires; the work begins then.
const timerLead = 2 * time.Second

// burst measures actions that are all due at one moment, until the last of them is completed. It calls trigger when the
// measurement has begun.
func (s *session) burst(ctx context.Context, ledger *ledger, due time.Time, trigger func() error) error {
	event, err := s.nextEvent(ctx)
	if err != nil {
		return err
	}
	from, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := trigger(); err != nil {
		return err
	}
	if err := s.awaitRuns(ctx, ledger, allTime()); err != nil {
		return err
	}
	all := ledger.count(allTime())
	stored, err := s.completions(ctx, event, all.started)
	if err != nil {
		return err
	}
	to, err := s.end(ctx, from)
	if err != nil {
		return err
	}
	completed, last := momentsIn(allTime(), stored)
	if completed == 0 {
		return errNothing
	}
	r := s.result
	r.apply(all)
	r.Lateness = all.lateness.quantiles()
	r.Completed = Rate(float64(completed) / last.Sub(due).Seconds())
	r.Times = map[string]Seconds{"last_started": Seconds(all.last.Sub(due)), "last_completed": Seconds(last.Sub(due))}
	r.Messages, r.MessagesByStream = to.traffic.each(from.traffic, completed)
	return nil
}
