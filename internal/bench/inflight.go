package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/worker"
)

func inflightScenario() Scenario {
	return Scenario{
		Name:     "inflight",
		Short:    "N runs of one schedule that are in progress at once, and then end together",
		Takes:    []string{ParamRuns, ParamSpread},
		Defaults: Parameters{Runs: 1_000},
		measure:  measureInflight,
	}
}

func measureInflight(ctx context.Context, s *session) error {
	// Only triggers allow a schedule so many starts at once: backfills are admitted in smaller numbers.
	if err := s.create(ctx, "creating schedules", 1, benchID, dormant(time.Now())); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	t := newTriggers(1)
	letGo := s.hold(ctx, t)
	defer letGo()
	event, err := s.nextEvent(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := s.fill(ctx, t); err != nil {
		return err
	}
	s.result.Times = map[string]Seconds{"last_started": Seconds(time.Since(begin))}
	if err := s.settle(ctx); err != nil { // until all starts are recorded
		return err
	}
	writes, err := s.watchInvoker(benchID(0))
	if err != nil {
		return err
	}
	return s.empty(ctx, t, event, writes, letGo)
}

// hold makes the code of all runs wait from now on, until they are let go. Then one ends after the other, all of them within
// the spread.
func (s *session) hold(ctx context.Context, t *triggers) (letGo func()) {
	gate := make(chan struct{})
	var begun atomic.Int64
	note := func(run *worker.Run, at time.Time) {
		t.note(run, at)
		place := time.Duration(begun.Add(1) - 1)
		<-gate
		_ = sleep.For(ctx, time.Duration(s.Spread)*place/time.Duration(s.Runs))
	}
	s.onRun.Store(&note)
	return sync.OnceFunc(func() { close(gate) })
}

// fill triggers the schedule, one run after the other, until all are in progress, or one is not: then no more will be.
func (s *session) fill(ctx context.Context, t *triggers) error {
	for i := range s.Runs {
		s.config.Progress("filling", i, s.Runs)
		if err := s.triggerOnce(ctx, t, benchID(0), allTime()); err != nil {
			return err
		}
		if t.counts.missed > 0 {
			break
		}
	}
	return nil
}

// empty lets all runs go and measures until the last of them is completed.
func (s *session) empty(ctx context.Context, t *triggers, event uint64, writes *recordWrites, letGo func()) error {
	from, err := s.begin(ctx)
	if err != nil {
		return err
	}
	released := time.Now()
	letGo()
	stored, err := s.completions(ctx, event, t.counts.started)
	if err != nil {
		return err
	}
	to, err := s.end(ctx, from)
	if err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil { // writes after the last completion count as well
		return err
	}
	completed, last := momentsIn(allTime(), stored)
	if completed == 0 {
		return errNothing
	}
	r := s.result
	r.apply(t.counts)
	r.Lateness = t.counts.lateness.quantiles()
	r.Completed = Rate(float64(completed) / last.Sub(released).Seconds())
	r.Times["last_completed"] = Seconds(last.Sub(released))
	r.Messages, r.MessagesByStream = to.traffic.each(from.traffic, completed)
	r.RecordWrites, r.RecordBytes, err = writes.stop(ctx)
	return err
}
