package consistency

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableOfTheDocs: docs/consistency.md lists all kinds, and says correctly which of them a scrubber mends.
func TestTableOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/consistency.md")
	require.NoError(t, err)
	documented := map[Kind]string{}
	name := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, kind := range name.FindAllStringSubmatch(cells[1], -1) {
			documented[Kind(kind[1])] = strings.TrimSpace(cells[4])
		}
	}
	found := map[Kind]map[bool]bool{} // whether there are automatic repairs, and others
	for _, test := range inspections() {
		s := healthy()
		test.change(&s)
		for _, f := range inspect(s) {
			if found[f.Kind] == nil {
				found[f.Kind] = map[bool]bool{}
			}
			found[f.Kind][f.Automatic()] = true
		}
	}
	orphan, _ := inspectStray(&stray{})
	found[orphan.Kind] = map[bool]bool{orphan.Automatic(): true}
	for kind, automatic := range found {
		want := "no"
		switch {
		case automatic[true] && automatic[false]:
			want = "in part"
		case automatic[true]:
			want = "yes"
		}
		assert.Equal(t, want, documented[kind], kind)
	}
	assert.Len(t, documented, len(found), "kinds of the page and of the tests")
}

// TestWorkflowsOfTheDocs: docs/consistency.md lists all kinds that concern workflows.
func TestWorkflowsOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/consistency.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Workflows\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	kinds := []Kind{DeadlineMissing, TaskMissing, TaskStranded, TaskOrphaned, TimerOrphaned, WorkMissing, EndUntold, JournalDamaged, JournalForeign, RunExpired}
	for _, kind := range kinds {
		assert.Contains(t, section, "`"+string(kind)+"`")
	}
}
