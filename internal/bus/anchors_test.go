package bus

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAnchorsHaveNoPeriod: whichever every n-th sequence is left to those who set anchors, they soon meet one that calls for it.
func TestAnchorsHaveNoPeriod(t *testing.T) {
	t.Parallel()
	assert.True(t, anchors(1), "the file of a new stream has one from the start")
	const longest = 20
	for period := 1; period <= longest; period++ {
		for first := 1; first <= period; first++ {
			assert.LessOrEqual(t, longestWait(first, period), 8*anchorEvery, "%d, and every %d after it", first, period)
		}
	}
}

// longestWait returns how many sequences of a million, first and every period-th after it, call for no anchor between two that do.
func longestWait(first, period int) (longest int) {
	wait := 0
	for sequence := first; sequence <= 1_000_000; sequence += period {
		wait++
		if anchors(uint64(sequence)) {
			wait = 0
		}
		longest = max(longest, wait)
	}
	return longest
}
