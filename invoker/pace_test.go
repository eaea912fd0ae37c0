package invoker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestPromise(t *testing.T) {
	t.Parallel()
	now := second(1000)
	ms := func(n int) time.Time { return now.Add(time.Duration(n) * time.Millisecond) }
	for name, test := range map[string]struct {
		record wire.StartRate
		rate   float64
		count  int
		slots  []time.Time
		next   time.Time
	}{
		"first":              {wire.StartRate{}, 10, 2, []time.Time{ms(-250), ms(-150)}, ms(-50)},
		"after another":      {wire.StartRate{Next: ms(50), Rate: 10}, 10, 2, []time.Time{ms(50), ms(150)}, ms(250)},
		"a moment unused":    {wire.StartRate{Next: ms(-100), Rate: 10}, 10, 2, []time.Time{ms(-100), ms(0)}, ms(100)},
		"long unused":        {wire.StartRate{Next: ms(-5000), Rate: 10}, 10, 1, []time.Time{ms(-250)}, ms(-150)},
		"rare":               {wire.StartRate{Next: ms(900_000), Rate: 0.001}, 0.001, 1, nil, ms(900_000)},
		"beyond the horizon": {wire.StartRate{Next: ms(19_950), Rate: 10}, 10, 3, []time.Time{ms(19_950)}, ms(20_050)},
		"raised":             {wire.StartRate{Next: ms(10_000), Rate: 10}, 100, 1, []time.Time{ms(1000)}, ms(1010)},
		"lowered":            {wire.StartRate{Next: ms(1000), Rate: 10}, 5, 1, []time.Time{ms(2000)}, ms(2200)},
		"lowered by far":     {wire.StartRate{Next: ms(10_000), Rate: 1000}, 0.5, 1, nil, ms(22_000)},
		"of a wrong clock":   {wire.StartRate{Next: ms(3_600_000), Rate: 10}, 10, 1, []time.Time{ms(0)}, ms(100)},
		"as good as never": {
			wire.StartRate{Next: ms(0), Rate: 1e-300}, 1e-300, 2, []time.Time{ms(0)}, ms(0).Add(365 * 24 * time.Hour),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, slots := invoker.Promise(test.record, test.rate, test.count, now)
			require.Equal(t, test.slots, slots)
			require.Equal(t, wire.StartRate{Next: test.next, Rate: test.rate}, record)
		})
	}
}

// TestPaceIsKept: whoever asks when, and for how much, no stretch of time has more starts than the rate allows.
func TestPaceIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.Float64Range(0.05, 2000).Draw(rt, "rate")
		now := second(0)
		var record wire.StartRate
		var starts []time.Time
		for range rapid.IntRange(1, 60).Draw(rt, "asks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(rt, "later")) * time.Millisecond)
			var slots []time.Time
			record, slots = invoker.Promise(record, rate, rapid.IntRange(1, 50).Draw(rt, "count"), now)
			for _, slot := range slots {
				if slot.Before(now) {
					slot = now
				}
				starts = append(starts, slot)
			}
		}
		slices.SortFunc(starts, time.Time.Compare)
		keepsRate(rt, starts, rate, invoker.PaceBurst)
	})
}

// keepsRate checks that no stretch of time has more starts than a rate allows in it, and in so much more, and one.
func keepsRate(t require.TestingT, starts []time.Time, rate float64, more time.Duration) {
	allowed := func(at time.Time) float64 { return rate * at.Sub(starts[0]).Seconds() }
	least := 0.0 // of what any start so far was beyond what had been allowed before it
	for i, at := range starts {
		least = min(least, float64(i)-allowed(at))
		excess := float64(i+1) - allowed(at) - least
		require.LessOrEqual(t, excess, rate*more.Seconds()+1.001, "up to %v", at.Sub(origin))
	}
}

// contender is a schedule among others that want to start more than they may.
type contender struct {
	*harness
	wakes  time.Time
	starts []time.Time
}

// step makes a transition, and starts what is ready. It leaves out what a harness checks: there are many steps.
func (c *contender) step(now time.Time, in invoker.Input) {
	c.now, in.Bounds = now, c.bounds
	out := invoker.Transition(&c.d, c.state, in, now)
	if out.Asks > 0 {
		in.Bounds.Room = c.ask(out.Asks)
		out = invoker.Transition(&c.d, c.state, in, now)
	}
	var report invoker.Report
	for _, s := range invoker.WorkOf(&out.State, now).Starts {
		c.starts = append(c.starts, now)
		report.Starts = append(report.Starts, invoker.StartReport{RequestID: s.RequestID, At: now})
	}
	c.state = invoker.Apply(&c.d, out.State, report, c.bounds, now).State
	c.state.Outbox = nil
	c.wakes = invoker.RetryAt(&c.state, now)
}

// TestSchedulesTakeTurns: schedules with many starts that wait share the rate, however late they are woken and in whatever
// order, and one with a single start does not wait for all of theirs.
func TestSchedulesTakeTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.SampledFrom([]float64{2, 5, 8}).Draw(rt, "rate")
		late := rapid.IntRange(1, 150).Draw(rt, "late")
		c := newContest(rt, rate, rapid.IntRange(2, 4).Draw(rt, "schedules"))
		lateness := rapid.IntRange(0, late)
		const each = 16
		for _, one := range c.all {
			one.handOver(each)
		}
		for c.shortest() < each {
			one := c.next()
			now := one.wakes.Add(time.Duration(lateness.Draw(rt, "wake")) * time.Millisecond)
			if now.Before(c.now) {
				now = c.now
			}
			c.now = now
			one.step(now, invoker.Input{})
			if c.shortest() > 0 && c.longest() < each { // all of them have waited all the time
				// Each may hold a turn, and ask for the next one when half of it is over.
				require.LessOrEqual(rt, c.longest()-c.shortest(), 3*invoker.Turn(rate)+2)
			}
		}
		starts := c.starts()
		keepsRate(rt, starts, rate, invoker.PaceBurst+time.Duration(2*late)*time.Millisecond)
		needed := time.Duration(float64(len(starts))/rate*float64(time.Second)) + 2*time.Second
		require.Less(rt, starts[len(starts)-1].Sub(origin), needed, "the rate is made use of")
	})
}

// contest is several schedules under one rate.
type contest struct {
	all    []*contender
	record wire.StartRate
	now    time.Time
}

func newContest(t require.TestingT, rate float64, schedules int) *contest {
	c := &contest{now: origin}
	for range schedules {
		one := &contender{harness: newHarness(t, policy(schedule.OverlapAllowAll))}
		one.bounds.Room = &invoker.Room{DelayedBy: schedule.DelayActionRate}
		one.ask = func(starts int) *invoker.Room {
			var slots []time.Time
			c.record, slots = invoker.Promise(c.record, rate, min(starts, invoker.Turn(rate)), one.now)
			return invoker.PacedRoom(one.d.Key(), slots, one.now)
		}
		c.all = append(c.all, one)
	}
	return c
}

// handOver makes so many starts due.
func (c *contender) handOver(starts int) {
	var seconds []int
	for i := range starts {
		seconds = append(seconds, i-starts)
	}
	c.step(c.now, traced(c.harness.handOff(schedule.SourceAuto, "", seconds...)))
}

func (c *contest) next() *contender {
	waiting := slices.DeleteFunc(slices.Clone(c.all), func(one *contender) bool { return one.wakes.IsZero() })
	return slices.MinFunc(waiting, func(a, b *contender) int { return a.wakes.Compare(b.wakes) })
}

func (c *contest) shortest() int {
	return len(slices.MinFunc(c.all, func(a, b *contender) int { return len(a.starts) - len(b.starts) }).starts)
}

func (c *contest) longest() int {
	return len(slices.MaxFunc(c.all, func(a, b *contender) int { return len(a.starts) - len(b.starts) }).starts)
}

func (c *contest) starts() []time.Time {
	var all []time.Time
	for _, one := range c.all {
		all = append(all, one.starts...)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}
