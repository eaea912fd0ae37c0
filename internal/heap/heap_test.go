package heap

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mebibyte = 1 << 20

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

// TestPaceBeginsCollections is about the whole process, and runs beside no other test: with a little to do, collections are begun
// here, not by Go.
func TestPaceBeginsCollections(t *testing.T) {
	live := make([]byte, 256*mebibyte)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Pace(ctx)
	}()
	begin := collections()
	for deadline := time.Now().Add(time.Minute); collections().forced < begin.forced+2 && time.Now().Before(deadline); {
		waste(mebibyte)
		require.NoError(t, sleep.For(ctx, 50*time.Millisecond))
	}
	end := collections()
	assert.GreaterOrEqual(t, end.forced, begin.forced+2)
	assert.Less(t, end.automatic-begin.automatic, end.forced-begin.forced, "where looks came too late")
	stop()
	<-ended
	runtime.KeepAlive(live)
}

// cycles counts collections by who began them.
type cycles struct{ automatic, forced uint64 }

func collections() cycles {
	samples := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(samples)
	return cycles{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
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
