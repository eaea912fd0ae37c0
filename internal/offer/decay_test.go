package offer

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDecaying: what some tasks weigh, and which rate that is.
func TestDecaying(t *testing.T) {
	t.Parallel()
	const long = time.Hour // the counting began long ago
	burst := decaying{}.add(long, 30)
	for name, c := range map[string]struct {
		sum  decaying
		now  time.Duration
		rate float64
	}{
		"nothing":                         {decaying{}, long, 0},
		"30 at once":                      {burst, long, 2},
		"30 at once, 15 s later":          {burst, long + meanAge, 2 / math.E},
		"30 at once, a minute later":      {burst, long + 4*meanAge, 2 * math.Exp(-4)},
		"30 at once, 10 minutes later":    {burst, long + quietFor, 0},
		"one, 45 s later":                 {decaying{}.add(long, 1), long + 46*time.Second, 0},
		"30 at once and 30 later":         {burst.add(long+meanAge, 30), long + meanAge, 2/math.E + 2},
		"a clock that goes back":          {burst, long - time.Minute, 2},
		"tasks from before the last ones": {burst.add(long-time.Minute, 30), long, 4},
		"one in the first millisecond":    {decaying{}.add(time.Millisecond, 1), time.Millisecond, 1 / (15 * -math.Expm1(-1./15))},
	} {
		assert.InDelta(t, c.rate, c.sum.perSecond(c.now), 1e-9, name)
	}
}

// TestSteadyRate: the rate of tasks that come at the same rate all the time is that rate, as soon as some have come, and a new rate is known after a minute.
func TestSteadyRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.IntRange(1, 5_000).Draw(t, "rate")
		gap := time.Second / time.Duration(perSecond)
		seconds := rapid.IntRange(1, 60).Draw(t, "seconds")
		var sum decaying
		now := time.Duration(0)
		for range perSecond * seconds {
			sum = sum.add(now, 1)
			now += gap
		}
		rate := sum.perSecond(now)
		require.InEpsilon(t, perSecond, rate, 0.05, "after %v", now)
		require.Less(t, sum.perSecond(now+time.Minute), rate/10)
	})
}

// TestRatesAddUp: it does not matter how many processes count, how many tasks are counted at once, or when somebody looks. No rate is negative.
func TestRatesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var whole decaying
		parts := make([]decaying, rapid.IntRange(1, 4).Draw(t, "processes"))
		now := time.Duration(0)
		for range rapid.IntRange(0, 50).Draw(t, "times") {
			now += time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "after"))
			n, of := rapid.IntRange(1, 100).Draw(t, "tasks"), rapid.IntRange(0, len(parts)-1).Draw(t, "process")
			whole = whole.add(now, n)
			for range n {
				parts[of] = parts[of].add(now, 1)
			}
			_ = whole.perSecond(now)
		}
		now += time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "after"))
		sum := 0.0
		for _, part := range parts {
			sum += part.weightAt(now)
		}
		require.InDelta(t, whole.weightAt(now), sum, 1e-6*max(1, sum))
		require.GreaterOrEqual(t, whole.perSecond(now), 0.0)
		require.LessOrEqual(t, whole.perSecond(now+time.Second), max(whole.perSecond(now), 0))
	})
}
