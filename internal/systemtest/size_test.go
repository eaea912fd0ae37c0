package systemtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	longestFunction = 60
	most            = 22 // nine of ten functions are no longer than this
	longestFile     = 400
)

// longFiles are the files that may be longer, and why.
var longFiles = map[string]string{
	"schedule/api.go":              "the requests and replies of the API, read as one list",
	"internal/loop/group.go":       "one state machine, whose states share their comments",
	"internal/simulation/world.go": "what happens in virtual time, in the order in which it may happen",
}

// TestFunctionsAreShort bounds the length of functions that are no tests.
func TestFunctionsAreShort(t *testing.T) {
	t.Parallel()
	var lengths []int
	for _, file := range parseModule(t) {
		if file.test {
			continue
		}
		for _, decl := range file.syntax.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok {
				lines := file.lineOf(function.End()) - file.lineOf(function.Pos()) + 1
				lengths = append(lengths, lines)
				assert.LessOrEqual(t, lines, longestFunction, "%s: divide %s", file.at(function), function.Name.Name)
			}
		}
	}
	slices.Sort(lengths)
	assert.Greater(t, len(lengths), 3000)
	assert.LessOrEqual(t, lengths[len(lengths)*9/10], most, "of ten functions, nine are not longer")
}

// TestFilesAreShort bounds the length of files that are no tests.
func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, file := range parseModule(t) {
		if file.test {
			continue
		}
		name, _, _ := strings.Cut(file.at(file.syntax), ":")
		lines := file.lineOf(file.syntax.FileEnd) - 1
		if longFiles[name] != "" {
			assert.Greater(t, lines, longestFile, "%s needs no exception", name)
			continue
		}
		assert.LessOrEqual(t, lines, longestFile, "divide %s", name)
	}
}
