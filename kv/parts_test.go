package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPartsOfABatch: whichever of several answers had no room for all, what is missed is read by itself.
func TestPartsOfABatch(t *testing.T) {
	t.Parallel()
	for _, rests := range [][]bool{{true, false}, {false, true}, {true, true}} {
		var parts []*part
		for _, rest := range rests {
			parts = append(parts, &part{Batch: Batch{rest: rest}})
		}
		all, err := join(nil, parts)
		require.NoError(t, err)
		require.True(t, all.rest, "%v", rests)
	}
	all, err := join(nil, []*part{{}, {}})
	require.NoError(t, err)
	require.False(t, all.rest)
}
