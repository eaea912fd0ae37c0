package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLevelFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live, allocated uint64
		want            level
	}{
		"nothing to do":        {200 * mebibyte, 0, idlest},
		"a little":             {200 * mebibyte, 600 << 10, idlest},
		"some":                 {200 * mebibyte, mebibyte, light},
		"as much as by itself": {200 * mebibyte, 3 * mebibyte, medium},
		"a lot":                {200 * mebibyte, 31 * mebibyte, heavy},
		"too much for that":    {200 * mebibyte, 101 * mebibyte, heaviest},
		"a lot for an index":   {1500 * mebibyte, 200 * mebibyte, medium},
		"nothing in use yet":   {0, mebibyte, heaviest},
	} {
		assert.Equal(t, test.want, levelFor(test.live, test.allocated, time.Second), name)
	}
}

// second tells a pacer of a second in which 200 MiB are in use, and nothing has to be collected.
func second(p *pacer, allocated uint64) action {
	return p.next(usage{live: 200 * mebibyte, objects: 200 * mebibyte}, allocated, time.Second)
}

const (
	busy   = 25 * mebibyte
	busier = 300 * mebibyte
	quiet  = 0
)

// seconds is calm, in the looks of second.
const seconds = int(calm / time.Second)

func TestPacerGoesUpAtOnceAndDownSlowly(t *testing.T) {
	t.Parallel()
	p := newPacer()
	require.Equal(t, nothing, second(&p, busy))
	require.Equal(t, medium, p.level)
	for range seconds - 1 {
		require.Equal(t, nothing, second(&p, quiet))
		require.Equal(t, medium, p.level)
	}
	require.Equal(t, giveBack, second(&p, quiet))
	require.Equal(t, idlest, p.level)
	for range 2 * seconds {
		require.Equal(t, nothing, second(&p, quiet), "there is nothing more to give")
	}
}

// TestLessLoadIsNoCalm: to give memory back is a collection that nobody needs while there is much to do.
func TestLessLoadIsNoCalm(t *testing.T) {
	t.Parallel()
	p := newPacer()
	require.Equal(t, nothing, second(&p, busier))
	for range seconds {
		require.Equal(t, heaviest, p.level)
		require.Equal(t, nothing, second(&p, busy))
	}
	require.Equal(t, medium, p.level)
}

func TestOneBusyMomentBeginsTheCalmAnew(t *testing.T) {
	t.Parallel()
	p := newPacer()
	second(&p, busy)
	for range 3 {
		for range seconds - 1 {
			require.Equal(t, nothing, second(&p, quiet))
		}
		require.Equal(t, nothing, second(&p, busy))
		require.Equal(t, medium, p.level)
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
		{idlest, 239 * mebibyte, nothing},
		{idlest, 240 * mebibyte, collect},
		{medium, 319 * mebibyte, nothing},
		{medium, 320 * mebibyte, collect},
		{medium, 339 * mebibyte, collect},
		{medium, 340 * mebibyte, nothing},
		{heavy, 450 * mebibyte, nothing},
		{heaviest, 450 * mebibyte, nothing},
	} {
		p := pacer{level: test.level}
		got := p.next(usage{live: 200 * mebibyte, objects: test.objects}, 0, interval)
		assert.Equal(t, test.want, got, test)
	}
}

// TestLimitIsFarFromTheLevel: there is time to begin before Go does.
func TestLimitIsFarFromTheLevel(t *testing.T) {
	t.Parallel()
	for _, g := range growth {
		assert.Greater(t, goBegins*float64(g.limit), 1.1*float64(g.begin))
	}
}

// TestLoadIsMeasuredOverASecond: what comes within one look says little of it.
func TestLoadIsMeasuredOverASecond(t *testing.T) {
	t.Parallel()
	p := newPacer()
	const live = 200 * mebibyte
	for range window/interval - 1 {
		p.next(usage{live: live, objects: live}, mebibyte, interval)
		require.Equal(t, idlest, p.level)
	}
	p.next(usage{live: live, objects: live}, 0, interval)
	require.Equal(t, medium, p.level)
}

// TestMemoryIsGivenBackSeldom: whatever the load, there is a minute between two times.
func TestMemoryIsGivenBackSeldom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPacer()
		last := -between
		for i, load := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 300).Draw(t, "MiB allocated in each second") {
			now := time.Duration(i) * time.Second
			if second(&p, uint64(load)*mebibyte) == giveBack {
				require.GreaterOrEqual(t, now-last, between)
				last = now
			}
			require.Contains(t, []level{idlest, light, medium}, p.level)
		}
	})
}
