// Package golden compares the output of a test with a file under testdata. Run the tests with -update to write the files again,
// and read the difference before you commit it. Only tests import this package.
//
// The package imports nothing of Carillon.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Equal fails the test when got differs from testdata/<name>.
func Equal(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// Section fails the test when got differs from the text of a page between two marker lines: "<!-- name: … -->" and "<!-- end of
// name -->".
func Section(t testing.TB, path, name, got string) {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	section := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]*-->\n)(.*)(<!-- end of ` + name + ` -->)`)
	found := section.FindSubmatchIndex(page)
	require.NotNil(t, found, "%s has no section %s", path, name)
	begin, end := found[4], found[5]
	if *update {
		page = slices.Concat(page[:begin], []byte(got), page[end:])
		require.NoError(t, os.WriteFile(path, page, 0o644))
		end = begin + len(got)
	}
	require.Equal(t, string(page[begin:end]), got)
}
