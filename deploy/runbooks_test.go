package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sections are the headings of a runbook, in this order.
var sections = []string{"What it means", "What it does", "How to look", "How to fix", "How to test it"}

// loadRunbooks returns the text of each runbook by the alert it is for.
func loadRunbooks(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(runbooks, "Carillon*.md"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".md")] = string(text)
	}
	return all
}

// TestRunbooks: there is one for each alert and none beside, all have the same sections, and the list has them all.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	all := loadRunbooks(t)
	list, err := os.ReadFile(filepath.Join(runbooks, "README.md"))
	require.NoError(t, err)
	alerting := map[string]bool{}
	for _, a := range alerts(t) {
		alerting[a.Alert] = true
		assert.Contains(t, all, a.Alert, "the alert has no runbook")
		assert.Regexp(t, `\[`+a.Alert+`\]\(`+a.Alert+`\.md\)[^\n]*`+a.Labels["severity"], string(list))
	}
	for name, text := range all {
		assert.True(t, alerting[name], "there is no alert %s", name)
		assert.True(t, strings.HasPrefix(text, "# "+name+"\n"), name)
		var headings []string
		for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(text, -1) {
			headings = append(headings, heading[1])
		}
		assert.Equal(t, sections, headings, name)
	}
}

// TestRunbooksNameWhatExists: metrics, expressions, commands with their flags, and other pages.
func TestRunbooksNameWhatExists(t *testing.T) {
	t.Parallel()
	known, commands := loadCatalogue(t), loadCommands(t)
	pages := loadRunbooks(t)
	for file, under := range map[string]string{"README.md": runbooks, "dashboards.md": filepath.Dir(runbooks)} {
		text, err := os.ReadFile(filepath.Join(under, file))
		require.NoError(t, err)
		pages[file] = string(text)
	}
	for page, text := range pages {
		for _, metric := range regexp.MustCompile(`\bcarillon_\w+`).FindAllString(text, -1) {
			assert.Contains(t, known, metric, page)
		}
		for _, block := range blocks(text, "promql") {
			_, _, err := labelsOf(known, block)
			assert.NoError(t, err, page)
		}
		for _, block := range blocks(text, "sh") {
			for line := range strings.Lines(block) {
				checkCommand(t, page, line, commands)
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)[)#]`).FindAllStringSubmatch(text, -1) {
			under := runbooks
			if page == "dashboards.md" {
				under = filepath.Dir(runbooks)
			}
			assert.FileExists(t, filepath.Join(under, link[1]), page)
		}
	}
}

// checkCommand makes sure that a line of a page that runs carillon names a command and flags that exist.
func checkCommand(t *testing.T, page, line string, commands map[string]string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "carillon" {
		return
	}
	path, described := "", ""
	for n := 2; n <= min(3, len(words)); n++ {
		if text, ok := commands[strings.Join(words[:n], " ")]; ok {
			path, described = strings.Join(words[:n], " "), text
		}
	}
	if !assert.NotEmpty(t, path, "%s: there is no such command: %s", page, line) {
		return
	}
	for _, flag := range regexp.MustCompile(`(^| )(--?[a-z][a-z-]*)`).FindAllStringSubmatch(line, -1) {
		exists := regexp.MustCompile("(?m)^\\| `(-., )?" + flag[2] + "[ `,]").MatchString(described + commands[""])
		assert.True(t, exists, "%s: %s has no flag %s", page, path, flag[2])
	}
}

// loadCommands returns what the page of settings says about the flags of each command; those of all commands under "".
func loadCommands(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/configuration.md")
	require.NoError(t, err)
	all := map[string]string{}
	for _, part := range strings.Split(string(text), "\n### ")[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		if title == "All commands" {
			title = ""
		}
		all[title] = rest
	}
	require.Greater(t, len(all), 30)
	return all
}

// blocks returns the code blocks of a language.
func blocks(text, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
