package bench

import (
	"testing"

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
