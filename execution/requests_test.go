package execution

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRequestIDsNeverChange: a set that others have been made of keeps what it has, in any order of additions.
func TestRequestIDsNeverChange(t *testing.T) {
	t.Parallel()
	const n = 3 * maxFresh
	sets := []requestIDs{{}}
	for i := range n {
		last := sets[len(sets)-1]
		other := last.with("other of " + strconv.Itoa(i)) // a decision that is not carried out
		sets = append(sets, last.with(strconv.Itoa(i)))
		require.True(t, other.has("other of "+strconv.Itoa(i)))
	}
	for size, set := range sets {
		require.Equal(t, size, set.Len())
		for i := range n {
			require.Equal(t, i < size, set.has(strconv.Itoa(i)), "%d of %d", i, size)
			require.False(t, set.has("other of "+strconv.Itoa(i)))
		}
	}
	last := sets[n]
	assert.Equal(t, n, last.with("0").Len(), "a repeat adds nothing")
	assert.True(t, last.Equal(last.with("0")))
	assert.False(t, last.Equal(sets[n-1]))
	assert.False(t, sets[1].Equal(requestIDs{}.with("1")))
	assert.False(t, last.Equal(sets[n-1].with("1000")))
}

// BenchmarkManySignals is one more signal for a run that has had ten thousand.
func BenchmarkManySignals(b *testing.B) {
	var many requestIDs
	for i := range 10_000 {
		many = many.with(strconv.Itoa(i))
	}
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = "new " + strconv.Itoa(i)
	}
	for b.Loop() {
		set := many
		for _, id := range ids {
			set = set.with(id)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/signal")
}
