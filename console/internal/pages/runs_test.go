package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRunsSayThatOlderOnesMayFollow: a page that found nothing in the part that it searched does not say that there is nothing, and leads on.
func TestRunsSayThatOlderOnesMayFollow(t *testing.T) {
	t.Parallel()
	shown := func(list *runList) string {
		var page strings.Builder
		require.NoError(t, views["runs"].ExecuteTemplate(&page, "page", frame{Namespace: "n", Page: list}))
		return page.String()
	}
	part := shown(&runList{Status: "failed", Older: "?after=x", IsPart: true})
	assert.Contains(t, part, "Older ones may follow.")
	assert.Contains(t, part, `<a href="?after=x" rel="next">Search further back</a>`)
	assert.NotContains(t, part, "There are no such runs.")
	assert.NotContains(t, part, "hx-trigger", "searching it again and again would cost much")

	whole := shown(&runList{Status: "failed"})
	assert.Contains(t, whole, "There are no such runs.")
	assert.Contains(t, whole, "hx-trigger")
	assert.NotContains(t, whole, "Older")
}
