package heap

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mebibyte = 1 << 20

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live, allocated uint64
		want            int
	}{
		"nothing to do":        {200 * mebibyte, 0, 20},
		"a little":             {200 * mebibyte, 600 << 10, 20},
		"some":                 {200 * mebibyte, mebibyte, 50},
		"as much as by itself": {200 * mebibyte, 3 * mebibyte, 100},
		"a lot":                {200 * mebibyte, 100 * mebibyte, 100},
		"too much for that":    {200 * mebibyte, 101 * mebibyte, 200},
		"a lot for an index":   {1500 * mebibyte, 500 * mebibyte, 100},
		"nothing in use yet":   {0, mebibyte, 200},
	} {
		assert.Equal(t, test.want, percentFor(test.live, test.allocated, time.Second), name)
	}
}

func TestPacerGoesUpAtOnceAndDownSlowly(t *testing.T) {
	t.Parallel()
	const live, busy, quiet = 200 * mebibyte, 100 * mebibyte, 0
	p := pacer{percent: 20, since: between}
	require.False(t, p.next(live, busy, time.Second))
	require.Equal(t, 100, p.percent)
	for range calm - 1 {
		require.False(t, p.next(live, quiet, time.Second))
		require.Equal(t, 100, p.percent)
	}
	require.True(t, p.next(live, quiet, time.Second), "memory is given back")
	require.Equal(t, 20, p.percent)
	for range 2 * calm {
		require.False(t, p.next(live, quiet, time.Second), "there is nothing more to give")
	}
}

// TestLessLoadIsNoCalm: to give memory back is a collection that nobody needs while there is much to do.
func TestLessLoadIsNoCalm(t *testing.T) {
	t.Parallel()
	const live, busy, less = 200 * mebibyte, 300 * mebibyte, 50 * mebibyte
	p := pacer{percent: 20, since: between}
	require.False(t, p.next(live, busy, time.Second))
	require.Equal(t, 200, p.percent)
	for range calm {
		require.Equal(t, 200, p.percent)
		require.False(t, p.next(live, less, time.Second))
	}
	require.Equal(t, 100, p.percent)
}

func TestOneBusyMomentBeginsTheCalmAnew(t *testing.T) {
	t.Parallel()
	const live, busy, quiet = 200 * mebibyte, 100 * mebibyte, 0
	p := pacer{percent: 100, since: between}
	for range 3 {
		for range calm - 1 {
			require.False(t, p.next(live, quiet, time.Second))
		}
		require.False(t, p.next(live, busy, time.Second))
		require.Equal(t, 100, p.percent)
	}
}

// TestMemoryIsGivenBackSeldom: whatever the load, there is a minute between two times.
func TestMemoryIsGivenBackSeldom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := pacer{percent: 20, since: between}
		last := -between
		for i, load := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 300).Draw(t, "MiB allocated in each second") {
			now := time.Duration(i) * time.Second
			if p.next(200*mebibyte, uint64(load)*mebibyte, time.Second) {
				require.GreaterOrEqual(t, now-last, between)
				last = now
			}
			require.Contains(t, []int{least, less, goDefault, more}, p.percent)
		}
	})
}

// TestPaceGivesBackAndRestores is about the whole process, and runs beside no other test.
func TestPaceGivesBackAndRestores(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Pace(ctx)
	}()
	waste(256 * mebibyte)
	require.Greater(t, held(), uint64(64*mebibyte))
	assert.Eventually(t, func() bool { return held() < 32*mebibyte }, time.Minute, 100*time.Millisecond)
	stop()
	<-ended
	assert.Equal(t, 77, debug.SetGCPercent(77))
}

// waste allocates what nobody needs afterwards.
func waste(bytes int) {
	var kept [][]byte
	for range bytes / mebibyte {
		piece := make([]byte, mebibyte)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1 // so that it takes memory of the system
		}
		kept = append(kept, piece)
	}
	clear(kept)
}

// held returns the bytes of the heap that are in use, collected too late, or not given back.
func held() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}
