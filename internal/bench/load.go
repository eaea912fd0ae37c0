package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// cooldown is how long the load goes on after the measurement, so that it is steady to the end.
const cooldown = time.Second

// load is schedules that are due again and again, for some time.
type load struct {
	schedules int
	interval  time.Duration
	warmup    time.Duration
	duration  time.Duration
	overlap   schedule.OverlapPolicy
	name      func(int) string
	// together makes all schedules due at one moment, and only then.
	together bool
}

// times are the moments of a load, once its beginning is known.
type times struct {
	// measured is the span of the measurement, all the span in which anything is due.
	measured, all span
}

func (l *load) times(begin time.Time) times {
	from := begin.Add(l.warmup)
	to := from.Add(l.duration)
	t := times{measured: span{from, to}, all: span{begin, to.Add(cooldown + l.interval)}}
	if l.together {
		t.all.to = begin.Add(l.interval)
	}
	return t
}

// schedule is the common form of all schedules of the load. Jitter spreads their times evenly over the interval: without it all
// of them would be due at once.
func (l *load) schedule(t times) schedule.Schedule {
	spec := schedule.Spec{
		Intervals: []schedule.Interval{phased(l.interval, t.all.from)},
		StartTime: t.all.from, EndTime: t.measured.to.Add(cooldown), Jitter: schedule.Duration(l.interval),
	}
	if l.together {
		spec.Jitter, spec.EndTime = 0, time.Time{}
	}
	return work(spec, l.overlap)
}

// offered is the result of a load.
type offered struct {
	times
	ledger   *ledger
	measured tally
	// completed counts the completions that were stored during the measurement.
	completed int
	growing   bool
}

// rate is how many completions were stored per second.
func (o *offered) rate() float64 { return o.times.measured.per(o.completed) }

// offering is how many actions were due per second.
func (o *offered) offering() float64 { return o.times.measured.per(o.measured.due) }

// sustained reports whether the installation has kept up with the load.
func (o *offered) sustained() bool {
	const enough = 0.98 // completions trail behind the starts a little
	return !o.growing && o.rate() >= enough*o.offering()
}

// offer creates the schedules of a load, measures while they are due, and waits until everything has run.
func (s *session) offer(ctx context.Context, l load) (*offered, error) {
	o := &offered{ledger: newLedger()}
	s.follow(o.ledger)
	var err error
	if o.times, err = s.prepare(ctx, l, o.ledger); err != nil {
		return nil, err
	}
	event, err := s.nextEvent(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.until(ctx, "warming up", o.times.measured.from); err != nil {
		return nil, err
	}
	from, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.until(ctx, "measuring", o.times.measured.to); err != nil {
		return nil, err
	}
	to, err := s.end(ctx, from)
	if err != nil {
		return nil, err
	}
	if err := s.awaitRuns(ctx, o.ledger, allTime()); err != nil {
		return nil, err
	}
	return o, s.account(ctx, o, event, from, to)
}

// account works out the result of a load, from the ledger and the events.
func (s *session) account(ctx context.Context, o *offered, event uint64, from, to gauge) error {
	all := o.ledger.count(allTime())
	stored, err := s.completions(ctx, event, all.started)
	if err != nil {
		return err
	}
	o.completed, _ = momentsIn(o.times.measured, stored)
	o.measured = o.ledger.count(o.times.measured)
	o.growing = o.ledger.growing(o.times.measured)
	s.result.apply(all)
	s.result.Offered, s.result.Completed = Rate(o.offering()), Rate(o.rate())
	s.result.Lateness = o.measured.lateness.quantiles()
	// Messages stored between the two readings belong to the completions between them, not to those of the window.
	completed, _ := momentsIn(span{from.at, to.at}, stored)
	s.result.Messages, s.result.MessagesByStream = to.traffic.each(from.traffic, completed)
	return nil
}

// prepare creates the schedules of a load before any of them is due. It cannot know how long that takes: if it takes longer
// than estimated, prepare starts again with more time.
func (s *session) prepare(ctx context.Context, l load, ledger *ledger) (times, error) {
	const tries, reserve = 4, 500 * time.Millisecond
	estimate := time.Duration(l.schedules) * time.Second / 1000
	for range tries {
		asked := time.Now()
		begin := asked.Add(estimate).Truncate(time.Second).Add(2 * time.Second)
		t := l.times(begin)
		what := l.schedule(t)
		if err := s.create(ctx, "creating schedules", l.schedules, l.name, what); err != nil {
			return t, err
		}
		if time.Until(begin) >= reserve {
			return t, expectAll(ledger, l.schedules, l.name, what.Spec, t.all)
		}
		estimate = 2 * time.Since(asked)
		if err := s.takeBack(ctx, l, ledger); err != nil {
			return t, err
		}
	}
	return times{}, fmt.Errorf("bench: %d schedules could not be created in time", l.schedules)
}

// takeBack removes the schedules of a load that were created too late, and makes sure that none of their runs is left.
func (s *session) takeBack(ctx context.Context, l load, ledger *ledger) error {
	if err := s.remove(ctx, l.schedules, l.name); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	if err := s.awaitWorker(ctx); err != nil {
		return err
	}
	ledger.forgetStrangers()
	return nil
}

// errNothing is about a measurement in which nothing was completed.
var errNothing = errors.New("bench: nothing was completed while it was measured")
