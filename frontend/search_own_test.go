package frontend_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestQueryShowsOwnChanges: a query that is made after the answer to a change shows that change, through any frontend. The index
// reads everything so seldom that this cannot be the reason.
func TestQueryShowsOwnChanges(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.newIndex(time.Hour)
	in.runIndex(index)
	in.run(func(c *frontend.Config) { c.Index = index })
	in.run(func(c *frontend.Config) { c.Index = index })
	natstest.Eventually(t, patience, "the index is built", func() bool {
		_, err := in.find("paused = true", "", 10, func() {})
		return err == nil
	})
	in.create("a", "")
	for i := range 200 {
		verb := []string{"pause", "unpause"}[i%2]
		_, err := answer[schedule.Empty](in, verb, `{"id":"a"}`)
		require.NoError(t, err)
		list, err := answer[schedule.ListReply](in, "list", `{"query":"paused = true"}`)
		require.NoError(t, err)
		require.False(t, list.IndexBehind)
		require.Len(t, list.Schedules, map[string]int{"pause": 1}[verb], verb)
		count, err := answer[schedule.CountReply](in, "count", `{"query":"paused = true"}`)
		require.NoError(t, err)
		require.Equal(t, len(list.Schedules), count.Count)
	}
}

// TestQueryOfAnIndexThatDoesNotRun: an index that is not built is behind, and no query waits for it.
func TestQueryOfAnIndexThatDoesNotRun(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.newIndex(time.Hour)
	assert.False(t, index.Await(t.Context(), time.Hour), "nobody runs it")
}
