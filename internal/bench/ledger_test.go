package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func after(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

func TestLedger(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for second := range 4 {
		at := after(1000 * second)
		l.expect("a", entry{nominal: at, due: at.Add(100 * time.Millisecond)})
	}
	l.begin("a", after(0), after(110))
	l.begin("a", after(1000), after(1090)) // early
	l.begin("a", after(2000), after(2150))
	l.begin("a", after(2000), after(9000)) // again
	l.begin("a", after(2500), after(2500)) // never due
	l.begin("b", after(0), after(0))

	ran, all := l.progress()
	assert.Equal(t, []int{3, 4}, []int{ran, all})
	c := l.count(allTime())
	assert.Equal(t, []int{4, 3, 1, 1, 2, 1}, []int{c.due, c.started, c.missed, c.doubled, c.unexpected, c.early})
	assert.Equal(t, after(2150), c.last, "a repeat does not count as a start")
	assert.InDelta(t, 50, float64(c.lateness.quantiles().Max), 0.1)
	assert.InDelta(t, 10, float64(c.lateness.quantiles().P50), 0.1, "what is early is not late")

	c = l.count(span{after(2100), after(3100)})
	assert.Equal(t, []int{1, 1, 1}, []int{c.due, c.started, c.doubled}, "by the time when it is due, the end excluded")
}

// TestLedgerCountsEverything: whatever runs, each action is started or missed, and each run is a start, a repeat or unexpected.
func TestLedgerCountsEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger()
		seconds := rapid.IntRange(0, 20).Draw(t, "due")
		for second := range seconds {
			l.expect("a", entry{nominal: after(1000 * second), due: after(1000 * second)})
		}
		runs := rapid.SliceOf(rapid.IntRange(0, 25)).Draw(t, "runs")
		for _, second := range runs {
			l.begin("a", after(1000*second), after(1000*second))
		}
		c := l.count(allTime())
		require.Equal(t, seconds, c.due)
		require.Equal(t, seconds, c.started+c.missed)
		require.Equal(t, len(runs), c.started+c.doubled+c.unexpected)
		require.EqualValues(t, c.started, c.lateness.hdr.TotalCount())
	})
}

func TestGrowing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		late func(i int) int
		want bool
	}{
		"steady":          {func(int) int { return 20 }, false},
		"always late":     {func(int) int { return 2000 }, false},
		"later and later": {func(i int) int { return 10 * i }, true},
		"a hiccup":        {func(i int) int { return map[bool]int{true: 900, false: 5}[i%50 == 0] }, false},
	} {
		l := newLedger()
		for i := range 100 {
			l.expect("a", entry{nominal: after(100 * i), due: after(100 * i)})
			l.begin("a", after(100*i), after(100*i+test.late(i)))
		}
		assert.Equal(t, test.want, l.growing(span{noon, after(10_000)}), name)
	}
	assert.False(t, newLedger().growing(span{noon, after(1000)}), "nothing is due")
}

// TestLoadIsWhatTheSpecSays: a load expects what its schedules are due for, and its measured part amounts to the offered rate.
func TestLoadIsWhatTheSpecSays(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Second, 3 * time.Second} {
		l := load{schedules: 300, interval: interval, warmup: 2 * time.Second, duration: 12 * time.Second, name: benchID}
		at := l.times(noon)
		assert.Equal(t, span{noon.Add(2 * time.Second), noon.Add(14 * time.Second)}, at.measured)
		ledger := newLedger()
		require.NoError(t, expectAll(ledger, l.schedules, l.name, l.schedule(at).Spec, at.all))
		_, all := ledger.progress()
		times := int((l.warmup + l.duration + cooldown) / interval)
		assert.Equal(t, 300*(times+1), all, "begin and end included")
		rate := float64(300) / interval.Seconds()
		assert.InEpsilon(t, rate, at.measured.per(ledger.count(at.measured).due), 0.05, "spread over the interval")
	}
}

func TestLoadOfAHerd(t *testing.T) {
	t.Parallel()
	l := load{schedules: 7, interval: time.Hour, name: benchID, together: true}
	at := l.times(noon)
	ledger := newLedger()
	require.NoError(t, expectAll(ledger, l.schedules, l.name, l.schedule(at).Spec, at.all))
	assert.Equal(t, 7, ledger.count(span{noon, after(1)}).due)
	assert.Equal(t, 7, ledger.count(allTime()).due)
}

func TestDormant(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ledger := newLedger()
	year := span{now, now.AddDate(0, 0, 364)}
	require.NoError(t, expectAll(ledger, 1, dormantID, dormant(now).Spec, year))
	assert.Equal(t, 1, ledger.count(year).due)
	assert.Zero(t, ledger.count(span{now, now.AddDate(0, 5, 0)}).due)
}

func TestSpan(t *testing.T) {
	t.Parallel()
	s := span{noon, after(4000)}
	assert.Equal(t, span{after(1000), after(2000)}, s.part(1, 4))
	assert.InDelta(t, 25, s.per(100), 0.001)
	count, last := momentsIn(s, []time.Time{after(-1), noon, after(3999), after(4000), after(2000)})
	assert.Equal(t, 3, count)
	assert.Equal(t, after(4000), last)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{90, 400, 777, 3500} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			t.Parallel()
			s := newSearch(0)
			for tries := 0; !s.done(); tries++ {
				require.Less(t, tries, 20)
				s.tried(s.rate() <= capacity, float64(min(s.rate(), capacity)))
			}
			assert.LessOrEqual(t, s.best, float64(capacity))
			assert.Greater(t, s.best, 0.7*float64(capacity))
		})
	}
	known := newSearch(250)
	assert.Equal(t, 250, known.rate())
	known.tried(false, 240)
	assert.True(t, known.done())
	assert.InDelta(t, 240, known.best, 0)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios() {
		assert.NoError(t, s.Check(s.Defaults), s.Name)
	}
	for want, change := range map[string]func(*Parameters){
		"schedules: 0 is out of range: use 1 to 1000000":              func(p *Parameters) { p.Schedules = 0 },
		"interval: 1.5s is out of range: use whole seconds, 1s to 1h": func(p *Parameters) { p.Interval = Seconds(1500 * time.Millisecond) },
		"duration: 0s is out of range: use whole seconds, 1s to 1h":   func(p *Parameters) { p.Duration = 0 },
		"overlap: \"skip\" must be one of [allow_all buffer_all]":     func(p *Parameters) { p.Overlap = schedule.OverlapSkip },
		"dormant: -1 is out of range: use 0 to 1000000":               func(p *Parameters) { p.Dormant = -1 },
		"warmup: 2h0m0s is out of range: use whole seconds, 0s to 1h": func(p *Parameters) { p.Warmup = Seconds(2 * time.Hour) },
	} {
		s := steadyScenario()
		p := s.Defaults
		change(&p)
		assert.ErrorContains(t, s.Check(p), want)
	}
}
