package systemtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

var (
	importing = regexp.MustCompile(`\b(?:[Ii]t|[Tt]h(?:e|is) (?:package|program)) (?:may )?imports? ([^.;]*)`)
	refused   = regexp.MustCompile(`\b(?:never|no|none|nothing)\b`)
	forTests  = regexp.MustCompile(`[Oo]nly tests (?:may )?import (?:it|this package)|tests alone may import it`)
)

// anyonesImports are packages that any package may import without saying so.
var anyonesImports = []string{"internal/sleep", "internal/suggest"}

// TestPackagesImportWhatTheySay: the comment of each package says what it imports of this module, and it imports nothing else.
// The sentence is "It imports …", "The package may import …" or the like, and names packages, "internal packages" or
// "everything".
func TestPackagesImportWhatTheySay(t *testing.T) {
	t.Parallel()
	imports, comments := listImports(t, "Imports"), packageComments(t)
	for name, imported := range imports {
		sentences := importing.FindAllStringSubmatch(comments[name], -1)
		if !assert.NotEmpty(t, sentences, "%s: its comment does not say what it imports of this module", name) {
			continue
		}
		said := ""
		for _, sentence := range sentences {
			said += " " + refused.Split(sentence[1], 2)[0]
		}
		for _, path := range imported {
			if ours, ok := strings.CutPrefix(path, module); ok && !slices.Contains(anyonesImports, ours) {
				assert.True(t, says(said, ours), "%s imports %s, and its comment does not say so: %q", name, ours, said)
			}
		}
	}
}

// says reports whether the sentence about imports allows a package.
func says(said, name string) bool {
	switch {
	case strings.Contains(said, "everything"), strings.Contains(said, "internal packages") && strings.HasPrefix(name, "internal/"):
		return true
	case slices.Contains([]string{"generator", "invoker", "backfiller", "history", "matching"}, name) && strings.Contains(said, "the pools,"):
		return true
	}
	return regexp.MustCompile(`(^|[\s,(])` + regexp.QuoteMeta(name) + `($|[\s,)])`).MatchString(said)
}

// TestHarnessesStayInTests: a package that says that only tests import it is imported only by tests, and by packages that say
// the same.
func TestHarnessesStayInTests(t *testing.T) {
	t.Parallel()
	comments := packageComments(t)
	said := 0
	for name, imported := range listImports(t, "Imports") {
		if forTests.MatchString(comments[name]) {
			said++
			continue
		}
		for _, path := range imported {
			if ours, ok := strings.CutPrefix(path, module); ok {
				assert.NotRegexp(t, forTests, comments[ours], "%s imports %s, which is for tests", name, ours)
			}
		}
	}
	assert.Greater(t, said, 4)
}

// packageComments returns the comment of each package, in one line.
func packageComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string][]string{}
	for _, file := range parseModule(t) {
		if !strings.HasSuffix(file.pkg, "_test") && file.syntax.Doc != nil {
			comments[file.dir] = append(comments[file.dir], strings.Fields(file.syntax.Doc.Text())...)
		}
	}
	joined := map[string]string{}
	for name := range maps.Keys(comments) {
		joined[name] = strings.Join(comments[name], " ")
	}
	return joined
}
