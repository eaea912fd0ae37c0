package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDecisions compares the index of docs/decisions with its pages. The numbers have no gap, each decision is on the page that the index
// names, under the same title, and each entry has all the parts that an entry needs.
func TestDecisions(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(repository, "docs/decisions")
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	entries := make(map[string]string) // "page.md: number. title" to the text of the entry
	for _, file := range files {
		if filepath.Base(file) == "README.md" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, section := range strings.Split(string(text), "\n## ")[1:] {
			heading, body, _ := strings.Cut(section, "\n")
			entries[filepath.Base(file)+": "+heading] = body
		}
	}
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| \[(.+)\]\((\w+\.md)#(\S+)\) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(string(index), -1)
	require.GreaterOrEqual(t, len(rows), 184)
	assert.Len(t, entries, len(rows), "entries of the pages, and rows of the index")
	for i, row := range rows {
		number, title, page, anchor, status := row[1], row[2], row[3], row[4], row[6]
		assert.Equal(t, fmt.Sprint(i+1), number)
		heading := number + ". " + title
		body, ok := entries[page+": "+heading]
		require.True(t, ok, "%s has no heading %q", page, heading)
		assert.Equal(t, anchorOf(heading), anchor)
		statusOfPage := regexp.MustCompile(`\[(\d+)\]\(\S+\)`).ReplaceAllString(body, "$1") // its numbers are links
		assert.Contains(t, statusOfPage, "\n**Status:** "+status+"\n", heading)
		for _, part := range []string{"Decision", "Why", "Proof"} {
			assert.Contains(t, body, "\n**"+part+":** ", "%s: %s", heading, part)
		}
	}
}

// anchorOf returns the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	kept := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

// TestCitations makes sure that the code cites only existing sections of docs/semantics.md.
func TestCitations(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs/semantics.md"))
	require.NoError(t, err)
	citation := regexp.MustCompile(`docs/semantics\.md ((?:§\d+(?: to | and )?)+)`)
	cited := 0
	require.NoError(t, fs.WalkDir(os.DirFS(repository), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(repository, path))
		for _, match := range citation.FindAllStringSubmatch(string(text), -1) {
			for _, section := range regexp.MustCompile(`\d+`).FindAllString(match[1], -1) {
				assert.Contains(t, string(page), "\n## "+section+". ", "%s cites §%s", path, section)
				cited++
			}
		}
		return err
	}))
	assert.Greater(t, cited, 20)
}

// TestNamedTestsExist makes sure that every test exists that a page names as its proof.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	exists, named := make(map[string]bool), make(map[string]string) // named: from the test to the page that names it
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z]\w*)\(`)
	name := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`")
	require.NoError(t, fs.WalkDir(os.DirFS(repository), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" && !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(repository, path))
		for _, match := range declaration.FindAllStringSubmatch(string(text), -1) {
			exists[match[1]] = true
		}
		if filepath.Ext(path) == ".md" {
			for _, match := range name.FindAllStringSubmatch(string(text), -1) {
				named[match[1]] = path
			}
		}
		return err
	}))
	require.Greater(t, len(named), 100)
	for test, page := range named {
		assert.True(t, exists[test], "%s names %s", page, test)
	}
}
