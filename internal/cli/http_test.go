package cli

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/probe"
)

// observer asks a process for its health and metrics.
type observer struct {
	t   *testing.T
	url string
}

// httpOf waits until a process answers HTTP requests.
func httpOf(t *testing.T, d *daemon) observer {
	t.Helper()
	address := regexp.MustCompile(`answering HTTP" address=(\S+)`)
	var found []string
	natstest.Eventually(t, patience, "it answers HTTP", func() bool {
		found = address.FindStringSubmatch(d.stderr.String())
		return found != nil || len(d.exit) > 0
	})
	require.NotNil(t, found, "it ended: %s", d.stderr.String())
	return observer{t, "http://" + found[1]}
}

func (o observer) get(path string) (code int, body string) {
	o.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(o.url + path)
	require.NoError(o.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(o.t, err)
	return response.StatusCode, string(text)
}

// health asks for both health reports. Their contents must agree with their status codes.
func (o observer) health() (healthy, ready bool, report probe.Report) {
	o.t.Helper()
	code, _ := o.get("/healthz")
	healthy = code == http.StatusOK
	code, body := o.get("/readyz")
	require.NoError(o.t, json.Unmarshal([]byte(body), &report), body)
	ready = code == http.StatusOK
	assert.Equal(o.t, ready, report.IsReady(), body)
	return healthy, ready, report
}

// until waits for a process to be ready, or not ready. In both cases the process must count as healthy: being unready is no reason to kill
// it.
func (o observer) until(wantReady bool, what string) (report probe.Report) {
	o.t.Helper()
	natstest.Eventually(o.t, patience, what, func() bool {
		var healthy, ready bool
		healthy, ready, report = o.health()
		assert.True(o.t, healthy, "%v", report)
		return ready == wantReady
	})
	return report
}

// TestHealthOfTheRoles: NATS is not there yet, comes up, goes away and comes back.
func TestHealthOfTheRoles(t *testing.T) {
	t.Parallel()
	node := natstest.Cluster(t, 1).Node(0)
	node.Stop()
	roles := []string{"frontend", "generator", "invoker", "backfiller", "history", "matching", "archival", "replication", "worker"}
	daemons, pages := map[string]*daemon{}, map[string]observer{}
	for _, role := range roles {
		daemons[role] = startDaemon(t, role, "--nats", node.URL(), "--http", "127.0.0.1:0")
		pages[role] = httpOf(t, daemons[role])
	}
	all := func(wantReady bool, reason string) {
		t.Helper()
		for _, role := range roles {
			report := pages[role].until(wantReady, role+" is ready or not")
			require.Len(t, report.Roles, 1)
			assert.Equal(t, role, report.Roles[0].Role)
			assert.Equal(t, reason, report.Roles[0].Reason)
		}
	}
	all(false, "waits for a connection to NATS")
	node.Start()
	all(true, "")
	node.Stop()
	all(false, "waits for a connection to NATS")
	node.Start()
	all(true, "")
	for _, role := range roles {
		daemons[role].stopped(t)
	}
}

// TestServerShowsItself: a server reports health, metrics and profiles of all roles.
func TestServerShowsItself(t *testing.T) {
	t.Parallel()
	server, _ := startServer(t, "--data", t.TempDir(), "--log-level", "info", "--http", "127.0.0.1:0", "--pprof")
	page := httpOf(t, server)
	var names []string
	for _, role := range page.until(true, "the server is ready").Roles {
		names = append(names, role.Role)
	}
	assert.Equal(t, []string{"frontend", "generator", "invoker", "backfiller", "history", "matching", "archival", "replication", "worker"}, names)

	code, body := page.get("/metrics")
	require.Equal(t, http.StatusOK, code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	require.NoError(t, err, body)
	assert.Contains(t, families, "go_goroutines")
	assert.Contains(t, body, `service_name="carillon-server"`)

	code, _ = page.get("/debug/pprof/cmdline")
	assert.Equal(t, http.StatusOK, code)
	server.stopped(t)
}

func TestHTTPFlags(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"pprof alone": {[]string{"--pprof"}, ExitUsage, "error: --pprof needs --http: the profiles are shown at that address\n"},
		"no port": {[]string{"--http", "localhost"}, ExitUsage,
			"error: --http: \"localhost\" is not an address: use HOST:PORT or :PORT, such as 127.0.0.1:9464\n"},
		"no number": {[]string{"--http", ":http"}, ExitUsage,
			"error: --http: \":http\" is not an address: use HOST:PORT or :PORT, such as 127.0.0.1:9464\n"},
		"taken": {[]string{"--http", taken.Addr().String()}, ExitFailure,
			"error: --http: the port of " + taken.Addr().String() + " is in use\nhint: give each process a port of its own\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"server", "generator", "worker"} {
				var p process
				assert.Equal(t, test.code, p.run(t.Context(), append([]string{command}, test.args...)...))
				assert.Equal(t, test.want, p.stderr.String())
			}
		})
	}
}
