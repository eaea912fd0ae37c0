package limits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

var noon = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

func TestShareOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits    schedule.NamespaceLimits
		frontends int
		want      share
	}{
		{schedule.NamespaceLimits{}, 3, share{0, 1}},
		{schedule.NamespaceLimits{RequestsPerSecond: 10}, 1, share{10, 10}},
		{schedule.NamespaceLimits{RequestsPerSecond: 10}, 4, share{2.5, 2}},
		{schedule.NamespaceLimits{RequestsPerSecond: 10, RequestBurst: 40}, 4, share{2.5, 10}},
		{schedule.NamespaceLimits{RequestsPerSecond: 0.5}, 2, share{0.25, 1}},
		{schedule.NamespaceLimits{RequestsPerSecond: 2.5}, 1, share{2.5, 3}},
	} {
		assert.Equal(t, c.want, shareOf(&c.limits, c.frontends), "%+v of %d", c.limits, c.frontends)
	}
}

// TestRateIsKept whenever the requests come: in any stretch of time no more are accepted than the rate gives, and a burst; and who
// waits as long as he is told is accepted, if nobody else asks.
func TestRateIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := schedule.NamespaceLimits{
			RequestsPerSecond: rapid.SampledFrom([]float64{0.5, 1, 7, 100}).Draw(t, "rate"),
			RequestBurst:      rapid.SampledFrom([]int{0, 1, 5, 50}).Draw(t, "burst"),
		}
		namespace, l, now := &schedule.Namespace{Name: "n", Limits: limits}, newRateLimits(), noon
		var accepted []time.Time
		refused := 0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
			failure := l.admit(namespace, 1, now)
			if failure == nil {
				accepted = append(accepted, now)
				continue
			}
			refused++
			require.Equal(t, schedule.CodeResourceExhausted, failure.Code)
			if rapid.Bool().Draw(t, "waits") {
				now = now.Add(failure.RetryAfter.Std())
				require.Nil(t, l.admit(namespace, 1, now))
				accepted = append(accepted, now)
			}
		}
		burst := shareOf(&limits, 1).burst
		for i, from := range accepted {
			for j, to := range accepted[i:] {
				most := float64(burst) + limits.RequestsPerSecond*to.Sub(from).Seconds() + 0.01
				require.LessOrEqual(t, float64(j+1), most+1, "from %s to %s", from, to)
			}
		}
		told := l.turn(func(string) bool { return true })["n"]
		require.Equal(t, requests{Accepted: len(accepted), Refused: uint64(refused)}, told)
	})
}

func TestRateFollowsTheLimit(t *testing.T) {
	t.Parallel()
	l := newRateLimits()
	free := &schedule.Namespace{Name: "n"}
	slow := &schedule.Namespace{Name: "n", Limits: schedule.NamespaceLimits{RequestsPerSecond: 1}}
	for range 100 {
		require.Nil(t, l.admit(free, 1, noon))
	}
	require.Nil(t, l.admit(slow, 1, noon))
	require.NotNil(t, l.admit(slow, 1, noon))
	require.Nil(t, l.admit(free, 1, noon), "the limit has been lifted")
	require.Nil(t, l.admit(&schedule.Namespace{Name: "other", Limits: slow.Limits}, 1, noon), "others are not touched")
	recent, refused := l.load("n")
	assert.Zero(t, recent, "no beat yet")
	assert.Equal(t, uint64(1), refused)
	assert.Contains(t, l.turn(func(name string) bool { return name == "n" }), "n")
	recent, _ = l.load("n")
	assert.Equal(t, 102, recent)
	recent, refused = l.load("other")
	assert.Zero(t, recent+int(refused), "it is gone")
}

// TestRefusedComeOneAfterTheOther and each is accepted then.
func TestRefusedComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	l, slow := newRateLimits(), &schedule.Namespace{Name: "n", Limits: schedule.NamespaceLimits{RequestsPerSecond: 5, RequestBurst: 1}}
	require.Nil(t, l.admit(slow, 1, noon))
	var waits []time.Duration
	for range 20 {
		waits = append(waits, l.admit(slow, 1, noon).RetryAfter.Std())
	}
	for _, wait := range waits {
		require.LessOrEqual(t, wait, longestWait+time.Millisecond)
		require.Nil(t, l.admit(slow, 1, noon.Add(wait)), "after %s", wait)
	}
	for range 200 {
		l.admit(slow, 1, noon.Add(time.Minute))
	}
	require.LessOrEqual(t, l.admit(slow, 1, noon.Add(time.Minute)).RetryAfter.Std(), longestWait+time.Millisecond)
}

func TestPeers(t *testing.T) {
	t.Parallel()
	p := newPeers()
	assert.Equal(t, 1, p.count(noon))
	assert.True(t, p.hear(beat{ID: "b"}, noon))
	assert.False(t, p.hear(beat{ID: "b", Seconds: 2, Namespaces: map[string]requests{"n": {Accepted: 6, Refused: 4}}}, noon))
	assert.True(t, p.hear(beat{ID: "c", Seconds: 2, Namespaces: map[string]requests{"n": {Accepted: 2}}}, noon.Add(beatEvery)))
	assert.Equal(t, 3, p.count(noon.Add(beatEvery)))
	perSecond, refused := p.load("n", noon.Add(beatEvery))
	assert.InDelta(t, 4.0, perSecond, 0)
	assert.Equal(t, uint64(4), refused)
	perSecond, _ = p.load("other", noon)
	assert.Zero(t, perSecond)

	late := noon.Add(peerAge + time.Second)
	assert.Equal(t, 2, p.count(late), "b is not heard of any more")
	assert.True(t, p.hear(beat{ID: "b"}, late))
	assert.False(t, p.hear(beat{ID: "c", Leaving: true}, late))
	assert.Equal(t, 2, p.count(late))
}
