package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

func overloadScenario() Scenario {
	return Scenario{
		Name:  "overload",
		Short: "the highest steady rate, and three times as much",
		Takes: []string{ParamRate, ParamWarmup, ParamDuration},
		Defaults: Parameters{
			Warmup: Seconds(2 * time.Second), Duration: Seconds(10 * time.Second),
		},
		measure: measureOverload,
	}
}

const (
	// firstRate is where the search for the highest rate begins.
	firstRate = 400
	// overloaded is how many times the highest rate is offered.
	overloaded = 3
)

func measureOverload(ctx context.Context, s *session) error {
	search := newSearch(s.Rate)
	number := 0
	for !search.done() {
		o, err := s.attempt(ctx, number, search.rate())
		if err != nil {
			return err
		}
		number++
		search.tried(o.sustained(), o.rate())
	}
	o, err := s.attempt(ctx, number, int(overloaded*search.best))
	if err != nil {
		return err
	}
	s.result.Rates = map[string]Rate{"best": Rate(search.best), "overloaded": Rate(o.rate())}
	return nil
}

// attempt offers a number of actions each second. The schedules are deleted afterwards, so that each attempt has the
// installation for itself. The counts of all attempts go into the result; all other figures are those of the last one.
func (s *session) attempt(ctx context.Context, number, rate int) (*offered, error) {
	sum := *s.result
	name := func(i int) string { return fmt.Sprintf("bench-%d-%06d", number, i) }
	o, err := s.offer(ctx, load{
		schedules: rate, interval: time.Second, overlap: schedule.OverlapAllowAll, name: name,
		warmup: time.Duration(s.Warmup), duration: time.Duration(s.Duration),
	})
	if err != nil {
		return nil, err
	}
	s.result.addCounts(&sum)
	return o, s.remove(ctx, rate, name)
}

// addCounts adds the counts of another result.
func (r *Result) addCounts(other *Result) {
	r.Due += other.Due
	r.Started += other.Started
	r.Missed += other.Missed
	r.Doubled += other.Doubled
	r.Unexpected += other.Unexpected
	r.Early += other.Early
}

// search looks for the highest sustained rate. While rates are sustained it tries half as much again, then it halves the range
// between the last sustained rate and the first that was not.
type search struct {
	// good is the highest rate that was sustained, bad the lowest that was not; zero if there is none yet.
	good, bad int
	next      int
	// best is what was completed at the highest sustained rate.
	best float64
	// halvings is how many more times it looks between the two.
	halvings int
	known    bool
}

// newSearch returns a search, or one that tries only a known rate.
func newSearch(known int) *search {
	if known > 0 {
		return &search{next: known, known: true}
	}
	return &search{next: firstRate, halvings: 2}
}

func (s *search) rate() int { return s.next }

// tried notes the outcome of a rate.
func (s *search) tried(sustained bool, completed float64) {
	if sustained {
		s.good = s.next
	} else {
		s.bad = s.next
	}
	if sustained || s.good == 0 || s.known {
		// Until a rate is sustained, what was completed is the best known.
		s.best = max(completed, 1)
	}
	switch {
	case s.bad == 0:
		s.next = s.good * 3 / 2
	case s.good == 0:
		s.next = s.bad / 2
	default:
		s.halvings--
		s.next = (s.good + s.bad) / 2
	}
}

func (s *search) done() bool {
	switch {
	case s.known:
		return s.good+s.bad > 0
	case s.good == 0 && s.bad > 0:
		return s.next == 0
	}
	return s.halvings < 0
}
