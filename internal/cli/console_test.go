package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
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
