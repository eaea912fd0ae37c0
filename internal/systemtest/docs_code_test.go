package systemtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCodeOfThePagesIsQuoted makes sure that the Go code of the pages about client and worker is quoted, word for word, from
// programs and examples that the tests compile and run.
func TestCodeOfThePagesIsQuoted(t *testing.T) {
	t.Parallel()
	for page, sources := range map[string]string{
		"../../docs/workers.md": "../../examples/worker/*.go",
		"../../docs/client.md":  "../../client/example_test.go",
	} {
		files, err := filepath.Glob(sources)
		require.NoError(t, err)
		var code strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			code.Write(text)
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		quotes := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, quotes, page)
		for _, quote := range quotes {
			assert.Contains(t, code.String(), quote[1], page)
		}
	}
}
