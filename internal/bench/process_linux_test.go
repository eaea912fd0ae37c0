package bench

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	const status = "Name:\tx\nVmHWM:\t   60432 kB\nVmRSS:\t   58000 kB\nThreads:\t7\n"
	assert.EqualValues(t, 60432<<10, kibibytes(status, "VmHWM:"))
	assert.Zero(t, kibibytes(status, "VmSwap:"))
	rss, peak := memory()
	assert.Positive(t, rss)
	assert.Positive(t, peak)
	assert.Positive(t, maxRSS())
	assert.Positive(t, cpuTime())
}

func TestUsageOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 420*time.Millisecond, ticks("7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 30 12 0 0 20 0 5 0 100 9 9"))
	assert.Zero(t, ticks(""))
	own := usageOf(os.Getpid())
	assert.Positive(t, own.rss)
	assert.Positive(t, own.peak)
	assert.Zero(t, usageOf(-1))
}
