package importer

import (
	"fmt"
	"strings"
)

// nameEntries adds the prefix to the IDs and makes repeated ones different: the first keeps its ID, the others get the next
// number that no entry has.
func nameEntries(prefix string, all []Entry) {
	taken, next := map[string]bool{}, map[string]int{}
	for i := range all {
		all[i].ID = prefix + all[i].ID
		taken[all[i].ID] = true
	}
	for i := range all {
		if all[i].Problem != nil {
			continue
		}
		base := all[i].ID
		n, again := next[base]
		if !again {
			next[base] = 2
			continue
		}
		for taken[numbered(base, n)] {
			n++
		}
		all[i].ID = numbered(base, n)
		taken[all[i].ID], next[base] = true, n+1
	}
}

func numbered(id string, n int) string { return fmt.Sprintf("%s-%d", id, n) }

// Slug makes an ID from a text: lower-case words joined by dashes, at most longest bytes.
func Slug(text string, longest int) string {
	var id strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '.':
			id.WriteRune(r)
		case id.Len() > 0 && !strings.HasSuffix(id.String(), "-"):
			id.WriteByte('-')
		}
	}
	return strings.Trim(id.String()[:min(id.Len(), longest)], "-.")
}
