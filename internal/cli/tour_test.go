package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

const cliPage = repository + "/docs/cli.md"

// TestTour runs the commands that docs/cli.md shows, on a server of its own, and compares their output with the page.
func TestTour(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(cliPage)
	require.NoError(t, err)
	server, url := startServer(t, "--data", t.TempDir())
	shell := tourShell{t: t, nats: url}
	for _, block := range blocks(string(page), "console") {
		for _, step := range strings.Split(strings.TrimPrefix(block, "$ "), "\n$ ") {
			typed, want, _ := strings.Cut(step, "\n")
			got, pattern := shell.run(typed), regexp.MustCompile(tourPattern(want))
			if looks.MatchString(typed) { // the effect of an earlier command may take a moment
				natstest.Eventually(t, patience, typed+"\n"+got, func() bool {
					got = shell.run(typed)
					return pattern.MatchString(got)
				})
			}
			assert.Regexp(t, pattern, got, "%s\n%s", typed, got)
		}
	}
	server.stopped(t)
}

// looks matches the commands that only read, and so may be repeated.
var looks = regexp.MustCompile(`^carillon \w+ (list|next|history|health)\b`)

// tourShell is a small shell with only what the tour needs.
type tourShell struct {
	t    *testing.T
	nats string
	code int
}

// run runs a line and returns what it prints on both streams.
func (s *tourShell) run(line string) string {
	s.t.Helper()
	if line == "echo $?" {
		return strconv.Itoa(s.code) + "\n"
	}
	inner := regexp.MustCompile(`"\$\((.*?)\)"`)
	line = inner.ReplaceAllStringFunc(line, func(text string) string {
		return strings.TrimSpace(s.run(inner.FindStringSubmatch(text)[1]))
	})
	args := tourWords(line)
	require.Equal(s.t, "carillon", args[0], line)
	p := process{env: map[string]string{"CARILLON_NATS": s.nats}}
	s.code = p.run(s.t.Context(), args[1:]...)
	return p.stdout.String() + p.stderr.String()
}

// tourWords splits a line as a shell does.
func tourWords(line string) []string {
	words := regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1)
	for i, word := range words {
		if word[0] == '\'' || word[0] == '"' {
			words[i] = word[1 : len(word)-1]
		}
	}
	return words
}

// tourPattern turns the output on the page into a pattern: "…" matches any text, and the width of a gap does not matter.
func tourPattern(want string) string {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
	return "^" + regexp.MustCompile(` +`).ReplaceAllString(pattern, " *") + `\s*$`
}

// TestExitCodesPage makes sure that the page lists all exit codes.
func TestExitCodesPage(t *testing.T) {
	t.Parallel()
	table := "\n| code | meaning |\n| --- | --- |\n"
	for code, meaning := range exits {
		table += fmt.Sprintf("| %d | %s |\n", code, meaning)
	}
	golden.Section(t, filepath.FromSlash(cliPage), "exit-codes", table+"\n")
}
