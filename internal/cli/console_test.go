package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
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
		"0.0.0.0:0":           {ExitUsage, "error: --console: 0.0.0.0:0 can be reached from other machines: give --console-cert and --console-key for that"},
		":8233":               {ExitUsage, "error: --console: :8233 can be reached from other machines"},
		"8233":                {ExitUsage, `error: --console: "8233" is not an address: use HOST:PORT, such as 127.0.0.1:8233, or off`},
		taken.Addr().String(): {ExitFailure, "error: --console: the port of " + taken.Addr().String() + " is in use\nhint: name another address by --console"},
	} {
		p := process{env: map[string]string{"CARILLON_GRPC": off}}
		assert.Equal(t, test.code, p.run(t.Context(), "server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error", "--console", address), address)
		assert.Contains(t, p.stderr.String(), test.line, address)
	}
}

// TestTraceURL: traces are linked by http and https only, with the ID in the path, the query or the fragment. A password is not repeated.
func TestTraceURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"", "http://127.0.0.1:16686/trace/{trace}", "https://grafana.example/explore?panes=%7B%22a%22%3A%22{trace}%22%7D&orgId=1", "https://x.example/#/{trace}/{trace}",
	} {
		got, err := traceURL(good)
		require.NoError(t, err, good)
		assert.Equal(t, good, got)
	}
	for _, wrong := range []string{
		"http://127.0.0.1:16686/trace", "javascript:alert('{trace}')", "ftp://x.example/{trace}", "//x.example/{trace}", "/trace/{trace}", "http:///{trace}",
		"{trace}", "https://{trace}.example/", "https://ann:secret@x.example/{trace}", "https://x.example/%zz{trace}", "https://x.example/\n{trace}",
	} {
		options := consoleOptions{address: defaultConsole, auth: authAuto, traceURL: wrong}
		_, err := options.listen(t.Context())
		require.ErrorContains(t, err, "--console-trace-url: it is not where a trace is shown: use an address with http or https", wrong)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// TestWhoComesIn: nobody must log in where only this machine or a proxy comes, unless the operator says otherwise.
func TestWhoComesIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options    consoleOptions
		isLoopback bool
		logIn      bool
		proxies    int
		wrong      string
	}{
		"this machine":            {consoleOptions{auth: authAuto}, true, false, 0, ""},
		"all machines":            {consoleOptions{auth: authAuto}, false, true, 0, ""},
		"always":                  {consoleOptions{auth: authNATS}, true, true, 0, ""},
		"never":                   {consoleOptions{auth: authNone}, false, false, 0, ""},
		"a proxy here":            {consoleOptions{auth: authAuto, header: "X-User"}, true, false, 2, ""},
		"a proxy elsewhere":       {consoleOptions{auth: authAuto, header: "X-User", proxies: []string{"10.0.0.0/8"}}, false, false, 1, ""},
		"a proxy before a login":  {consoleOptions{auth: authAuto, proxies: []string{"10.0.0.0/8"}}, false, true, 1, ""},
		"a proxy and a login":     {consoleOptions{auth: authNATS, header: "X-User"}, true, false, 0, "give one of them"},
		"an address and no range": {consoleOptions{auth: authAuto, proxies: []string{"10.0.0.1"}}, false, false, 0, `--console-proxy-from: "10.0.0.1" is no range`},
	} {
		config, err := test.options.access(test.isLoopback)
		if test.wrong != "" {
			assert.ErrorContains(t, err, test.wrong, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, test.logIn, config.LogIn, name)
		assert.Len(t, config.Proxies, test.proxies, name)
	}
}

// TestConsoleOverTLS lets people log in as users of the embedded server.
func TestConsoleOverTLS(t *testing.T) {
	t.Parallel()
	ca := natstest.NewAuthority(t)
	ca.Issue("server")
	config := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(config, []byte(`authorization { users: [ { user: service, password: s }, { user: ann, password: a } ] }`), 0o600))
	env := map[string]string{"CARILLON_PASSWORD": "s", "CARILLON_CONSOLE_CERT": ca.Path("server.pem"), "CARILLON_CONSOLE_KEY": ca.Path("server.key")}
	server := startDaemonIn(t, env, "server", "--port", "-1", "--log-level", "error", "--data", t.TempDir(), "--nats-config", config, "--user", "service",
		"--grpc", off, "--console", "127.0.0.1:0", "--console-auth", "nats")
	at := server.output(t, `console +(https://\S+) \(log in as a NATS user\)`)
	text, err := os.ReadFile(ca.Path("ca.pem"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for password, want := range map[string]int{"a": http.StatusSeeOther, "b": http.StatusUnauthorized} {
		response, err := browser.PostForm(at+"/login", url.Values{"user": {"ann"}, "password": {password}})
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, want, response.StatusCode)
		assert.Equal(t, "max-age=31536000", response.Header.Get("Strict-Transport-Security"))
		if want == http.StatusSeeOther {
			assert.Regexp(t, `^__Host-carillon=\S+; Path=/; HttpOnly; Secure; SameSite=Lax$`, response.Header.Get("Set-Cookie"))
		}
	}
	server.stopped(t)
	var p process
	assert.Equal(t, ExitFailure, p.run(t.Context(), "server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error", "--grpc", off, "--console", "127.0.0.1:0",
		"--console-auth", "nats"))
	assert.Contains(t, p.stderr.String(), "console: people must log in, and the NATS server has no users")
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
	submit("/ns/default/schedules/a%2Fb/backfill", url.Values{
		"start": {"2026-03-02T00:00"}, "end": {"2026-03-03T23:59"}, "request": {"2"}, "do": {"start"},
	})
	awaits("/ns/default/schedules/a%2Fb", `2026-03-02 09:00:00</time></a>`)
	assert.Contains(t, submit("/ns/default/schedules/a%2Fb/skip", nil), "Times to skip")
	text := submit("/ns/default/schedules/a%2Fb/backfill", url.Values{"start": {"yesterday"}, "do": {"start"}})
	assert.Contains(t, text, "give a date and a time, such as 2006-01-02T15:04")
	status, _ := shows(browser.Get(at + "/ns/default/schedules/a%2Fb/runs/none"))
	assert.Equal(t, http.StatusNotFound, status)
	assert.Contains(t, submit("/ns/default/schedules/a%2Fb/delete", nil), "There are no schedules here.")
	server.stopped(t)
}

// TestConsoleAuto: nobody has to log in where only this machine gets in, or a proxy that names people. A proxy on this machine brings others.
func TestConsoleAuto(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options    consoleOptions
		isLoopback bool
		want       bool
	}{
		"this machine":          {isLoopback: true},
		"others":                {want: true},
		"through a proxy":       {options: consoleOptions{proxies: []string{"127.0.0.1/32"}}, isLoopback: true, want: true},
		"by another name":       {options: consoleOptions{hosts: []string{"console.example"}}, isLoopback: true, want: true},
		"a proxy that names":    {options: consoleOptions{header: "X-User", hosts: []string{"console.example"}}, isLoopback: true},
		"others, by that":       {options: consoleOptions{header: "X-User", proxies: []string{"10.0.0.1/32"}}},
		"none, said in so many": {options: consoleOptions{auth: authNone, hosts: []string{"console.example"}}, isLoopback: true},
	} {
		test.options.auth = cmp.Or(test.options.auth, authAuto)
		config, err := test.options.access(test.isLoopback)
		require.NoError(t, err, name)
		assert.Equal(t, test.want, config.LogIn, name)
	}
}
