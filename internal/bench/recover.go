package bench

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

func recoverScenario() Scenario {
	return Scenario{
		Name:  "recover",
		Short: "a restart with N dormant schedules, while others are due every second",
		Takes: []string{ParamSchedules, ParamActive, ParamDuration},
		Defaults: Parameters{
			Schedules: 100_000, Active: 20, Duration: Seconds(5 * time.Second),
		},
		measure: measureRecover,
	}
}

// activeFor bounds how long the active schedules are due.
const activeFor = 10 * time.Minute

func measureRecover(ctx context.Context, s *session) error {
	if _, err := s.createDormant(ctx, s.Schedules); err != nil {
		return err
	}
	ledger := newLedger()
	s.follow(ledger)
	l := load{
		schedules: s.Active, interval: time.Second, overlap: schedule.OverlapAllowAll, name: benchID,
		duration: activeFor,
	}
	t, err := s.prepare(ctx, l, ledger)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "before the restart", t.all.from.Add(time.Duration(s.Duration))); err != nil {
		return err
	}
	stopped, began := time.Now(), time.Time{}
	if began, err = s.restart(ctx); err != nil {
		return err
	}
	if _, err := s.client.Describe(ctx, dormantID(0)); err != nil {
		return err
	}
	ready := time.Now()
	before := span{t.all.from, ready}
	if err := s.awaitRuns(ctx, ledger, before); err != nil {
		return err
	}
	caughtUp := max(ledger.count(before).last.Sub(began), 0)
	s.result.Times = map[string]Seconds{
		"down": Seconds(began.Sub(stopped)), "ready": Seconds(ready.Sub(began)), "caught_up": Seconds(caughtUp),
	}
	return s.afterwards(ctx, ledger, t.all.from)
}

// restart stops the roles, and NATS if it belongs to the run, and starts them again. It returns when the start began.
func (s *session) restart(ctx context.Context) (began time.Time, err error) {
	s.config.Progress("restarting", 0, 0)
	if err := s.installation.close(); err != nil {
		return began, err
	}
	s.installation = nil
	own := s.host.external == nil
	s.host.stop()
	s.stopReturning()
	s.beginHeap(ctx)
	began = time.Now()
	if own {
		if err := s.host.start(ctx); err != nil {
			return began, err
		}
	}
	return began, s.install(ctx)
}

// afterwards measures what happens after the restart, and checks that nothing was missed or doubled across it.
func (s *session) afterwards(ctx context.Context, ledger *ledger, begin time.Time) error {
	event, err := s.nextEvent(ctx)
	if err != nil {
		return err
	}
	used, err := s.begin(ctx)
	if err != nil {
		return err
	}
	measured := span{used.at, used.at.Add(time.Duration(s.Duration))}
	if err := s.until(ctx, "after the restart", measured.to); err != nil {
		return err
	}
	to, err := s.end(ctx, used)
	if err != nil {
		return err
	}
	s.noteMemory()
	checked := span{begin, measured.to}
	if err := s.awaitRuns(ctx, ledger, checked); err != nil {
		return err
	}
	during := ledger.count(measured)
	stored, err := s.completions(ctx, event, during.started)
	if err != nil {
		return err
	}
	completed, _ := momentsIn(measured, stored)
	s.result.apply(ledger.count(checked))
	s.result.Lateness = during.lateness.quantiles()
	s.result.Offered, s.result.Completed = Rate(measured.per(during.due)), Rate(measured.per(completed))
	between, _ := momentsIn(span{used.at, to.at}, stored)
	s.result.Messages, s.result.MessagesByStream = to.traffic.each(used.traffic, between)
	return s.remove(ctx, s.Active, benchID)
}
