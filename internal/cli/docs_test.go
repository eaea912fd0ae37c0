package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/golden"
)

const repository = "../.."

// TestSettingsPage makes sure that docs/configuration.md lists every flag of every command.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	golden.Section(t, filepath.Join(repository, "docs/configuration.md"), "settings", settingsPage(t))
}

// settingsPage returns the page: a table for the global flags, and one for each command that has flags of its own.
func settingsPage(t *testing.T) string {
	root := (&app{}).rootCommand()
	page := settingsTable("All commands", root.PersistentFlags())
	for _, path := range leaves(root) {
		cmd, _, err := root.Find(path)
		require.NoError(t, err)
		page += settingsTable("carillon "+strings.Join(path, " "), cmd.NonInheritedFlags())
	}
	return page
}

func settingsTable(title string, flags *pflag.FlagSet) string {
	var rows string
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flagconf.Configurable(flag) {
			return
		}
		_, usage := pflag.UnquoteUsage(flag)
		fallback := ""
		if flag.DefValue != "" && flag.DefValue != "[]" {
			fallback = "`" + flag.DefValue + "`"
		}
		rows += fmt.Sprintf("| `%s` | `%s` | %s | %s |\n",
			strings.TrimSpace(flagSyntax(flag)), flagconf.EnvName(flag.Name), fallback, strings.ReplaceAll(usage, "|", `\|`))
	})
	if rows == "" {
		return ""
	}
	return fmt.Sprintf("\n### %s\n\n| flag | variable | default | meaning |\n| --- | --- | --- | --- |\n%s", title, rows)
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	require.NoError(t, err)
	return string(text)
}

// blocks returns the code blocks in a language.
func blocks(text, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// TestReadmeCommands runs every carillon command of the README against a server with the demo, in order.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--demo")
	server.output(t, `created +demo-calendar`)
	commands := 0
	for _, block := range blocks(readme(t), "sh") {
		for _, line := range strings.Split(strings.ReplaceAll(block, "\\\n", ""), "\n") {
			if !strings.HasPrefix(line, "carillon ") {
				continue
			}
			runExample(t, line, url)
			commands++
		}
	}
	assert.Greater(t, commands, 10)
	server.stopped(t)
}

// runExample runs a command line. The editor in use changes nothing. A command that runs until it is stopped is stopped as soon as it
// prints something.
func runExample(t *testing.T, line, url string) {
	t.Helper()
	args := append(shellWords(line)[1:], "--nats", url)
	if slices.Contains(args, "watch") {
		d := startDaemon(t, args...)
		d.output(t, `(.)`)
		d.stopped(t)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := process{env: map[string]string{"EDITOR": "true"}}
	assert.Equal(t, ExitOK, p.run(ctx, args...), "%s\n%s", line, p.stderr.String())
}

// shellWords splits a command line at spaces outside single quotes. The README uses no other quotes.
func shellWords(line string) []string {
	var words []string
	for _, match := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, match[1]+match[2])
	}
	return words
}

// TestReadmeWorkerCompiles builds the program of the README.
func TestReadmeWorkerCompiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	programs := blocks(readme(t), "go")
	require.Len(t, programs, 1)
	path := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(path, []byte(programs[0]), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, path)
	build.Dir = repository
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
}

// TestLinksOfThePages makes sure that the pages link only to existing files.
func TestLinksOfThePages(t *testing.T) {
	t.Parallel()
	var pages []string
	require.NoError(t, fs.WalkDir(os.DirFS(repository), "docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	require.Greater(t, len(pages), 30)
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "deploy/README.md") {
		text, err := os.ReadFile(filepath.Join(repository, page))
		require.NoError(t, err)
		prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(text), "") // code may look like a link
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(prose, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(repository, filepath.Dir(page), link[1]))
			assert.NoError(t, err, page)
		}
	}
}
