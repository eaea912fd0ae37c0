package importer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNameEntries(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"a b c":               "a b c",
		"a a a":               "a a-2 a-3",
		"a a a-2":             "a a-3 a-2",
		"a-2 a a":             "a-2 a a-3",
		"a a a-2 a-2 a":       "a a-3 a-2 a-2-2 a-4",
		"a a a-2 a-3 a-3 a-2": "a a-4 a-2 a-3 a-3-2 a-2-2",
	} {
		var all []Entry
		for _, id := range strings.Fields(given) {
			all = append(all, Entry{Schedule: Schedule{ID: id}})
		}
		nameEntries("", all)
		var ids []string
		for i := range all {
			ids = append(ids, all[i].ID)
		}
		assert.Equal(t, want, strings.Join(ids, " "))
	}
}
