package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestItemsAfter: in order, each once, and no more than asked for.
func TestItemsAfter(t *testing.T) {
	t.Parallel()
	items := []string{"c", "a", "b", "a", "d"}
	assert.Equal(t, []string{"a", "b", "c"}, ItemsAfter(items, "", 3))
	assert.Equal(t, []string{"c", "d"}, ItemsAfter(items, "b", 3))
	assert.Equal(t, []string{"c", "d"}, ItemsAfter(items, "bb", 3))
	assert.Empty(t, ItemsAfter(items, "d", 3))
	assert.Equal(t, []string{"c", "a", "b", "a", "d"}, items, "it is left as it is")
}
