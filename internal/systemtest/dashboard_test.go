package systemtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestDashboardsShowARealInstallation lets a real Prometheus read the metrics of a server that carries out workflows and schedules. Each query of the
// dashboards can be answered, each panel of the key figures shows something, and each alert can be evaluated.
func TestDashboardsShowARealInstallation(t *testing.T) {
	t.Parallel()
	watched := serveWork(t)
	p := startPrometheus(t, watched)
	for _, panel := range readPanels(t) {
		where := panel.dashboard + ": " + panel.Title
		for _, target := range panel.Targets {
			query := concrete(target.Expr)
			p.ask(query)
			if panel.dashboard != "carillon-key-figures" {
				continue
			}
			var values []float64
			natstest.Eventually(t, natstest.Patience, where+": "+query, func() bool {
				values = p.ask(query)
				return len(values) > 0
			})
			for _, value := range values {
				assert.GreaterOrEqual(t, value, 0.0, where)
				if panel.FieldConfig.Defaults.Max != nil {
					assert.LessOrEqual(t, value, *panel.FieldConfig.Defaults.Max, where)
				}
			}
		}
	}
	p.requireRules()
}

// serveWork runs a server with workflows and a schedule until the end of the test, and returns the address of its metrics. One workflow waits for a worker
// that never comes.
func serveWork(t *testing.T) (watched string) {
	t.Helper()
	port, grpc := strconv.Itoa(freePort(t)), "127.0.0.1:"+strconv.Itoa(quietPort(t))
	d := deployable{watched: "127.0.0.1:" + strconv.Itoa(quietPort(t))}
	server := newProcess(t, "server", "--data", t.TempDir(), "--port", port, "--sync", "interval", "--http", d.watched, "--grpc", grpc)
	server.start()
	natstest.Eventually(t, natstest.Patience, "the server is ready", func() bool {
		status, _ := d.get(t, "/readyz")
		return status == http.StatusOK
	})
	conn := connectWhenUp(t, "nats://127.0.0.1:"+port)
	api, err := client.New(conn, client.Config{Timeout: 30 * time.Second})
	require.NoError(t, err)
	(&system{t: t, names: subjects.Default(), conn: conn, client: api}).create("often", every(time.Second))
	s := &service{t: t, address: grpc}
	s.Client = s.dial()
	s.work(sdkworker.Options{DisableEagerActivities: true})
	_, err = s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{TaskQueue: "nobody"}, hello, "nobody")
	require.NoError(t, err)
	s.greetAll()
	return d.watched
}

// greetAll runs one workflow after the other until the end of the test.
func (s *service) greetAll() {
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			options := sdkclient.StartWorkflowOptions{ID: fmt.Sprint("greeting-", i), TaskQueue: workflowQueue}
			run, err := s.ExecuteWorkflow(ctx, options, hello, "world")
			if err == nil {
				err = run.Get(ctx, nil)
			}
			switch {
			case ctx.Err() != nil:
				ended <- nil
				return
			case err != nil:
				ended <- err
				return
			}
		}
	}()
	s.t.Cleanup(func() {
		stop()
		assert.NoError(s.t, <-ended)
	})
}

// shownPanel is what is needed of a panel of a dashboard.
type shownPanel struct {
	dashboard   string
	Title       string
	FieldConfig struct {
		Defaults struct{ Max *float64 }
	}
	Targets []struct{ Expr string }
}

// readPanels returns the panels of all dashboards.
func readPanels(t *testing.T) (all []shownPanel) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "deploy", "grafana", "dashboards", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d struct{ Panels []shownPanel }
		require.NoError(t, json.Unmarshal(text, &d), file)
		for _, panel := range d.Panels {
			panel.dashboard = strings.TrimSuffix(filepath.Base(file), ".json")
			all = append(all, panel)
		}
	}
	return all
}

var variable = regexp.MustCompile(`\$\{?\w+\}?`)

// concrete returns a query of a dashboard with values for its variables: everything, over a short time.
func concrete(query string) string {
	query = strings.NewReplacer("$__rate_interval", "15s", "$__range", "1m", "$__interval", "15s").Replace(query)
	return variable.ReplaceAllString(query, ".*")
}

// prometheus is a running Prometheus.
type prometheus struct {
	t   *testing.T
	url string
}

// startPrometheus lets a Prometheus read an address until the end of the test. Without the program, the test is skipped.
func startPrometheus(t *testing.T, watched string) *prometheus {
	t.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: it is in the package prometheus of Debian")
	}
	rules, err := filepath.Abs(filepath.Join("..", "..", "deploy", "prometheus", "carillon.rules.yml"))
	require.NoError(t, err)
	dir := t.TempDir()
	config := fmt.Sprintf(`
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 2s }
rule_files: [ %q ]
scrape_configs:
  - job_name: carillon
    static_configs: [ { targets: [ %q ], labels: { role: server } } ]
`, rules, watched)
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	address := "127.0.0.1:" + strconv.Itoa(quietPort(t))
	var log logBuffer
	cmd := exec.Command(binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of prometheus:\n%s", log.tail(4000))
		}
	})
	d := deployable{watched: address}
	natstest.Eventually(t, natstest.Patience, "prometheus is ready", func() bool {
		status, _ := d.get(t, "/-/ready")
		return status == http.StatusOK
	})
	return &prometheus{t, "http://" + address}
}

// get reads one page of the API.
func (p *prometheus) get(page string, into any) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api/v1/"+page, nil)
	require.NoError(p.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	require.NoError(p.t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(p.t, "success", answer.Status, "%s: %s", page, answer.Error)
}

// ask returns the values of a query that are numbers.
func (p *prometheus) ask(query string) (values []float64) {
	p.t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	p.get("query?query="+url.QueryEscape(query), &data)
	for _, series := range data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(series.Value[1]), 64)
		require.NoError(p.t, err, query)
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			values = append(values, value)
		}
	}
	return values
}

// requireRules requires that all rules have been evaluated, without an error.
func (p *prometheus) requireRules() {
	p.t.Helper()
	natstest.Eventually(p.t, natstest.Patience, "all rules have been evaluated", func() bool {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		p.get("rules", &data)
		evaluated := len(data.Groups) > 0
		for _, group := range data.Groups {
			for _, rule := range group.Rules {
				require.Empty(p.t, rule.LastError, rule.Name)
				evaluated = evaluated && rule.Health == "ok"
			}
		}
		return evaluated
	})
}
