package heap

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mebibyte = 1 << 20

// TestGiveBack is about the whole process, and is not parallel.
func TestGiveBack(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		GiveBack(ctx)
	}()
	waste(256 * mebibyte)
	require.Greater(t, measure().held, uint64(64*mebibyte))
	assert.Eventually(t, func() bool { return measure().held < 32*mebibyte }, 2*time.Minute, 100*time.Millisecond)
	stop()
	<-ended
}

// TestRest: memory is returned once a minute at most, after twelve quiet seconds, and only if there was much to do before or a
// third more is held than is in use.
func TestRest(t *testing.T) {
	t.Parallel()
	const live = 300 * mebibyte
	spare, full := usage{live: live, held: 4 * live / 3}, usage{live: live, held: 4*live/3 - 1}
	for name, c := range map[string]struct {
		rest      rest
		now       usage
		allocated uint64
		want      bool
	}{
		"quiet for long enough":      {rest{quiet: calm - interval, since: between}, spare, live/50 - 1, true},
		"not quiet for so long":      {rest{quiet: calm - 2*interval, since: between}, spare, 0, false},
		"busy":                       {rest{quiet: time.Hour, since: between}, spare, live / 50, false},
		"just given back":            {rest{quiet: time.Hour, since: between - 2*interval}, spare, 0, false},
		"a minute ago":               {rest{quiet: time.Hour, since: between - interval}, spare, 0, true},
		"hardly anything unused":     {rest{quiet: time.Hour, since: between}, full, 0, false},
		"all in use before it ended": {rest{quiet: time.Hour, since: between, loaded: true}, full, 0, true},
		"a small process":            {rest{quiet: time.Hour, since: between}, usage{live: mebibyte, held: 2 * mebibyte}, mebibyte - 1, true},
	} {
		require.Equal(t, c.want, c.rest.next(c.now, c.allocated), name)
		if c.want {
			require.Zero(t, c.rest.since, name)
			require.False(t, c.rest.loaded, name)
		}
	}
	r := rest{since: between}
	r.next(full, live/3-1)
	require.False(t, r.loaded)
	r.next(full, live/3)
	require.True(t, r.loaded)
}

// waste allocates memory that nobody needs afterwards.
func waste(bytes int) {
	var kept [][]byte
	for range bytes / mebibyte {
		piece := make([]byte, mebibyte)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1 // so that the system provides memory for it
		}
		kept = append(kept, piece)
	}
	clear(kept)
}
