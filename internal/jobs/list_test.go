package jobs

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestPagesTogetherAreTheList: whatever the size, and also where jobs were created at one moment.
func TestPagesTogetherAreTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Job {
			return Job{ID: rapid.StringMatching("[a-z]{1,3}").Draw(t, "id"), CreateTime: noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "created")))}
		}), 0, 12, func(job Job) string { return job.ID }).Draw(t, "jobs")
		slices.SortFunc(all, newestFirst)
		size := rapid.IntRange(1, 5).Draw(t, "size")
		var together []Job
		page, next := Page(all, "", size)
		for {
			assert.LessOrEqual(t, len(page), size)
			together = append(together, page...)
			if next == "" {
				break
			}
			page, next = Page(all, next, size)
		}
		assert.Equal(t, len(all), len(together))
		for i := range together {
			assert.Equal(t, all[i].ID, together[i].ID)
		}
	})
}

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
