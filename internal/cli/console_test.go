package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestTourOverHTTP runs the commands that docs/http.md shows, and compares their output with the page.
func TestTourOverHTTP(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	page, err := os.ReadFile(filepath.FromSlash(repository + "/docs/http.md"))
	require.NoError(t, err)
	server := startDaemonIn(t, map[string]string{"CARILLON_CONSOLE": "127.0.0.1:0"}, "server", "--port", "-1", "--log-level", "warn", "--data", t.TempDir())
	api := server.output(t, `console +(\S+)`) + "/api/carillon/v1/namespaces/default"
	found := blocks(string(page), "curl")
	require.NotEmpty(t, found)
	for _, block := range found {
		for step := range strings.SplitSeq(strings.TrimPrefix(block, "$ "), "\n$ ") {
			typed, want, _ := strings.Cut(step, "\n")
			shell := exec.CommandContext(t.Context(), "sh", "-c", typed)
			shell.Env = append(os.Environ(), "api="+api)
			got, err := shell.CombinedOutput()
			require.NoError(t, err, "%s: %s", typed, got)
			assert.Regexp(t, regexp.MustCompile(tourPattern(want)), string(got), typed)
		}
	}
	server.stopped(t)
}

// TestConsoleOnItsOwn has its frontend in another process.
func TestConsoleOnItsOwn(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	assert.Contains(t, server.stdout.String(), "console   not served")
	d := startDaemon(t, "console", "--nats", url, "--console", "127.0.0.1:0")
	serves := regexp.MustCompile(`serving the console" address=(\S+)`)
	var address []string
	natstest.Eventually(t, patience, "it listens", func() bool {
		address = serves.FindStringSubmatch(d.stderr.String())
		return address != nil
	})
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + address[1] + "/api/carillon/v1/namespaces")
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	assert.Contains(t, string(text), `"name":"default"`)
	d.stopped(t)
	server.stopped(t)
}

// TestConsoleErrors: an address that others reach, or that is taken, is refused in one line.
func TestConsoleErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for address, test := range map[string]struct {
		code int
		line string
	}{
		"0.0.0.0:0":           {ExitUsage, "error: --console: 0.0.0.0:0 can be reached from other machines, and the console asks nobody who they are"},
		":8233":               {ExitUsage, "error: --console: :8233 can be reached from other machines"},
		"8233":                {ExitUsage, `error: --console: "8233" is not an address: use HOST:PORT, such as 127.0.0.1:8233, or off`},
		taken.Addr().String(): {ExitFailure, "error: --console: the port of " + taken.Addr().String() + " is in use\nhint: name another address by --console"},
	} {
		p := process{env: map[string]string{"CARILLON_GRPC": off}}
		assert.Equal(t, test.code, p.run(t.Context(), "server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error", "--console", address), address)
		assert.Contains(t, p.stderr.String(), test.line, address)
	}
}

// TestConsoleShowsRuns: what somebody triggers, backfills and skips in the console shows on its pages.
func TestConsoleShowsRuns(t *testing.T) {
	t.Parallel()
	server := startDaemonIn(t, map[string]string{"CARILLON_CONSOLE": "127.0.0.1:0"}, "server", "--port", "-1", "--log-level", "warn", "--data", t.TempDir())
	at := server.output(t, `console +(\S+)`)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	shows := func(response *http.Response, err error) (int, string) {
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		return response.StatusCode, string(text)
	}
	submit := func(path string, fields url.Values) string {
		status, text := shows(browser.PostForm(at+path, fields))
		require.Equal(t, http.StatusOK, status, text)
		return text
	}
	awaits := func(path, pattern string) (found string) {
		natstest.Eventually(t, patience, path+" shows "+pattern, func() bool {
			_, text := shows(browser.Get(at + path))
			match := regexp.MustCompile(pattern).FindStringSubmatch(text)
			if match == nil {
				return false
			}
			found = match[len(match)-1]
			return true
		})
		return found
	}
	submit("/ns/default/new-schedule", url.Values{"id": {"a/b"}, "cron": {"0 9 * * *"}, "type": {"log"}, "taskQueue": {"default"}, "request": {"1"}, "do": {"create"}})
	assert.Contains(t, submit("/ns/default/schedules/a%2Fb/trigger", nil), "A run has been asked for.")
	page := awaits("/ns/default/runs?status=completed", `(?s)href="(/ns/default/schedules/a%2Fb/runs/[^"]+)">a/b<.*by hand.*>completed<`)
	awaits(page, `(?s)>completed<.*Result.*>started<|(?s)>completed<.*>started<`)
	submit("/ns/default/schedules/a%2Fb/backfill", url.Values{"start": {"2026-03-02T00:00"}, "end": {"2026-03-03T23:59"}})
	awaits("/ns/default/schedules/a%2Fb", `2026-03-02 09:00:00</time></a>`)
	assert.Contains(t, submit("/ns/default/schedules/a%2Fb/skip", nil), "Times to skip")
	status, text := shows(browser.PostForm(at+"/ns/default/schedules/a%2Fb/backfill", url.Values{"start": {"yesterday"}}))
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, text, "give a date and a time, such as 2006-01-02T15:04")
	status, _ = shows(browser.Get(at + "/ns/default/schedules/a%2Fb/runs/none"))
	assert.Equal(t, http.StatusNotFound, status)
	assert.Contains(t, submit("/ns/default/schedules/a%2Fb/delete", nil), "There are no schedules here.")
	server.stopped(t)
}
