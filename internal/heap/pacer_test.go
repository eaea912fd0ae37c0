package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func TestLevelFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live, allocated uint64
		want            level
	}{
		"nothing to do":        {200 * mebibyte, 0, idlest},
		"a little":             {200 * mebibyte, 600 << 10, idlest},
		"some":                 {200 * mebibyte, 1200 << 10, light},
		"as much as by itself": {200 * mebibyte, 3 * mebibyte, medium},
		"a lot":                {200 * mebibyte, 31 * mebibyte, heavy},
		"too much for that":    {200 * mebibyte, 101 * mebibyte, heaviest},
		"a lot for an index":   {1500 * mebibyte, 200 * mebibyte, medium},
		"nothing in use yet":   {0, mebibyte, heaviest},
	} {
		assert.Equal(t, test.want, levelFor(test.live, test.allocated, time.Second), name)
	}
}

// some tells a pacer of a window in which so many bytes are allocated in a second, 200 MiB are in use, and nothing has to be
// collected.
func some(p *pacer, rate uint64) action {
	const live = 200 * mebibyte
	return p.next(usage{live: live, objects: live}, rate*uint64(window/time.Second), window)
}

const (
	busy    = 25 * mebibyte
	busier  = 40 * mebibyte
	busiest = 300 * mebibyte
	quiet   = 0
)

// running is a pacer of a process that has started.
func running() pacer {
	p := newPacer()
	some(&p, busiest)
	return p
}

// windows is calm, in those of some, minute is between.
const (
	windows = int(calm / window)
	minute  = int(between / window)
)

// TestStartIsNoLoad: a process that starts allocates much for a moment, most of which it keeps.
func TestStartIsNoLoad(t *testing.T) {
	t.Parallel()
	p := newPacer()
	live := uint64(10 * mebibyte)
	for range window / interval {
		require.Equal(t, nothing, p.next(usage{live: live, objects: 3 * live / 2}, 2*live, interval))
		require.Equal(t, idlest, p.level)
		live += live / 2
	}
	for range windows - 1 {
		require.Equal(t, nothing, some(&p, quiet))
		require.Equal(t, idlest, p.level)
	}
	require.Equal(t, giveBack, some(&p, quiet))
}

func TestPacerGoesUpAtOnceAndDownSlowly(t *testing.T) {
	t.Parallel()
	p := running()
	require.Equal(t, nothing, some(&p, busiest))
	require.Equal(t, heaviest, p.level)
	for range windows - 1 {
		require.Equal(t, nothing, some(&p, quiet))
		require.Equal(t, heaviest, p.level)
	}
	require.Equal(t, giveBack, some(&p, quiet))
	require.Equal(t, medium, p.level, "it was much, in the last minute")
	for range minute {
		require.Equal(t, nothing, some(&p, quiet), "there is nothing more to give")
	}
	require.Equal(t, idlest, p.level)
}

// TestLessLoadIsNoCalm: to give memory back is a collection that nobody needs while there is much to do.
func TestLessLoadIsNoCalm(t *testing.T) {
	t.Parallel()
	p := running()
	require.Equal(t, nothing, some(&p, busiest))
	for range windows {
		require.Equal(t, heaviest, p.level)
		require.Equal(t, nothing, some(&p, busy))
	}
	require.Equal(t, medium, p.level)
}

func TestOneBusyMomentBeginsTheCalmAnew(t *testing.T) {
	t.Parallel()
	p := running()
	some(&p, busier)
	require.Equal(t, heavy, p.level)
	for range 3 {
		for range windows - 1 {
			require.Equal(t, nothing, some(&p, quiet))
		}
		require.Equal(t, nothing, some(&p, busier))
		require.Equal(t, heavy, p.level)
	}
}

// TestOneMomentIsNoLoad: what NATS allocates for its indexes is no reason to let the heap grow by more, or to give memory back.
func TestOneMomentIsNoLoad(t *testing.T) {
	t.Parallel()
	p := running()
	for range minute {
		some(&p, quiet)
	}
	for range 3 {
		require.Equal(t, nothing, some(&p, 40*mebibyte/uint64(window/time.Second)))
		require.Equal(t, idlest, p.level)
		for range minute {
			require.Equal(t, nothing, some(&p, quiet))
			require.Equal(t, idlest, p.level)
		}
	}
}

// TestMuchInAMinuteIsMarkedLessOften: where it is not so much that collections would be near each other.
func TestMuchInAMinuteIsMarkedLessOften(t *testing.T) {
	t.Parallel()
	p := running()
	for range much/busy/int(window/time.Second) - 1 {
		some(&p, busy)
		require.Less(t, p.level, steady)
	}
	for range 2 * minute {
		some(&p, busy)
	}
	require.Equal(t, steady, p.level)
	some(&p, busier)
	require.Equal(t, heavy, p.level)
	for range windows {
		some(&p, quiet)
	}
	require.Equal(t, steady, p.level)
	for range minute {
		some(&p, quiet)
	}
	require.Equal(t, idlest, p.level)
}

// TestGrowthIsBoundedInBytes: but not to less than what keeps collections apart.
func TestGrowthIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		level      level
		live, from uint64
	}{
		{steady, 200 * mebibyte, 300 * mebibyte},
		{steady, 1000 * mebibyte, 1280 * mebibyte},
		{steady, 4000 * mebibyte, 2400 * mebibyte},
		{medium, 4000 * mebibyte, 2400 * mebibyte},
		{idlest, 4000 * mebibyte, 1200 * mebibyte},
	} {
		grownBy := func(bytes uint64) usage { return usage{live: test.live, objects: test.live + bytes} }
		assert.False(t, test.level.begins(grownBy(test.from-mebibyte)), test)
		assert.True(t, test.level.begins(grownBy(test.from)), test)
	}
}

// TestCollectionsAreBegunAtTheLevel: before Go does, and not after it.
func TestCollectionsAreBegunAtTheLevel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		level   level
		objects uint64
		want    action
	}{
		{idlest, 199 * mebibyte, nothing},
		{idlest, 259 * mebibyte, nothing},
		{idlest, 260 * mebibyte, collect},
		{idlest, 285 * mebibyte, nothing},
		{medium, 319 * mebibyte, nothing},
		{medium, 320 * mebibyte, collect},
		{medium, 367 * mebibyte, collect},
		{medium, 369 * mebibyte, nothing},
		{heavy, 450 * mebibyte, nothing},
		{heaviest, 450 * mebibyte, nothing},
	} {
		p := pacer{level: test.level, collected: seldom}
		got := p.next(usage{live: 200 * mebibyte, objects: test.objects}, 0, interval)
		assert.Equal(t, test.want, got, test)
	}
}

// TestCollectionsAreFarApart: where they would not be, there is much to do, and they are left to Go before a window is over.
func TestCollectionsAreFarApart(t *testing.T) {
	t.Parallel()
	full := usage{live: 200 * mebibyte, objects: 320 * mebibyte}
	p := running()
	p.level = medium
	require.Equal(t, collect, p.next(full, 0, interval))
	require.Equal(t, nothing, p.next(full, 0, interval))
	require.Equal(t, heavy, p.level)
}

// TestGivingBackIsACollection: the next one is to be far from it, too.
func TestGivingBackIsACollection(t *testing.T) {
	t.Parallel()
	p := running()
	some(&p, busiest)
	for range windows - 1 {
		require.Equal(t, nothing, some(&p, quiet))
	}
	require.Equal(t, giveBack, some(&p, quiet))
	p.level = idlest
	require.Equal(t, nothing, p.next(usage{live: 200 * mebibyte, objects: 270 * mebibyte}, 0, interval))
	require.Equal(t, heavy, p.level)
}

// TestLimitIsFarFromTheLevel: there is time to begin before Go does.
func TestLimitIsFarFromTheLevel(t *testing.T) {
	t.Parallel()
	for _, g := range growth {
		assert.Greater(t, goBegins*float64(g.limit), 1.1*float64(g.begin))
	}
}

// TestLoadIsMeasuredOverAWindow: what comes within one look says little of it.
func TestLoadIsMeasuredOverAWindow(t *testing.T) {
	t.Parallel()
	p := running()
	const live = 200 * mebibyte
	for range window/interval - 1 {
		p.next(usage{live: live, objects: live}, 10*mebibyte, interval)
		require.Equal(t, idlest, p.level)
	}
	p.next(usage{live: live, objects: live}, 0, interval)
	require.Equal(t, heavy, p.level)
}

// TestMemoryIsGivenBackSeldom: whatever the load, there is a minute between two times.
func TestMemoryIsGivenBackSeldom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := running()
		last := -between
		for i, load := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 300).Draw(t, "MiB allocated in each second of a window") {
			now := time.Duration(i) * window
			if some(&p, uint64(load)*mebibyte) == giveBack {
				require.GreaterOrEqual(t, now-last, between)
				last = now
			}
			require.LessOrEqual(t, p.level, heavy)
		}
	})
}

func TestPause(t *testing.T) {
	t.Parallel()
	grown := func(percent uint64) usage { return usage{live: 100, objects: 100 + percent} }
	p := running()
	assert.Equal(t, seldomInterval, p.pause(grown(14)))
	assert.Equal(t, interval, p.pause(grown(15)), "a collection may soon be due")
	p.level = light
	assert.Equal(t, interval, p.pause(grown(0)), "there is something to do")
}
