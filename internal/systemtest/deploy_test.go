package systemtest

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// deployDir is the folder that all tests of deployments look at.
const deployDir = "../../deploy"

// deployable is a process as a file of deploy/ describes it.
type deployable struct {
	name string
	args []string
	env  map[string]string
	// watched is the address of its health and metrics, once it runs.
	watched string
	// temporal is where a gateway serves Temporal's clients, once it runs.
	temporal string
}

// role is the first word of the command line.
func (d *deployable) role() string { return d.args[0] }

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// documented are the variables that docs/configuration.md has for all commands and for one.
func documented(t *testing.T, role string) []string {
	t.Helper()
	var names []string
	for _, section := range strings.Split(readFile(t, "../../docs/configuration.md"), "\n### ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		if title != "All commands" && title != "carillon "+role {
			continue
		}
		for _, match := range regexp.MustCompile("`(CARILLON_[A-Z_]+)` \\|").FindAllStringSubmatch(section, -1) {
			names = append(names, match[1])
		}
	}
	require.NotEmpty(t, names)
	return names
}

// requireDocumented requires every variable of a process to be one that its command reads.
func requireDocumented(t *testing.T, d deployable) {
	t.Helper()
	known := documented(t, d.role())
	for name := range d.env {
		if strings.HasPrefix(name, "OTEL_") || name == "GOMEMLIMIT" {
			continue
		}
		assert.Contains(t, known, name, "%s: carillon %s does not read it", d.name, d.role())
	}
}

// start runs exactly the command line, with only the variables of the process. The test has set the ones that depend on the
// place, such as the address of NATS.
func (d *deployable) start(t *testing.T) *process {
	t.Helper()
	d.watched = "127.0.0.1:" + strconv.Itoa(quietPort(t))
	p := newProcess(t, d.args...)
	p.cmd = exec.Command(p.binary, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Dir = t.TempDir()
	env := maps.Clone(d.env)
	env["CARILLON_HTTP"], env["TMPDIR"] = d.watched, p.cmd.Dir
	if d.role() == "gateway" || d.role() == "server" {
		d.temporal = "127.0.0.1:" + strconv.Itoa(quietPort(t))
		env["CARILLON_GRPC"], env["CARILLON_HTTP_API"] = d.temporal, "127.0.0.1:"+strconv.Itoa(quietPort(t))
		env["CARILLON_CONSOLE"] = "off"
	}
	if d.role() == "console" {
		env["CARILLON_CONSOLE"] = "127.0.0.1:" + strconv.Itoa(quietPort(t))
	}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	require.NoError(t, p.cmd.Start())
	return p
}

var quiet struct {
	sync.Mutex
	last int
}

// quietPort returns a port outside the range from which connections get random ports, so that it is still free a moment later.
func quietPort(t *testing.T) int {
	t.Helper()
	quiet.Lock()
	defer quiet.Unlock()
	if quiet.last == 0 {
		quiet.last = 20000 + os.Getpid()%5000
	}
	for range 1000 {
		quiet.last++
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(quiet.last)); err == nil {
			require.NoError(t, l.Close())
			return quiet.last
		}
	}
	require.Fail(t, "there is no free port")
	return 0
}

// get returns the status and the body of a page of a process; 0 while nobody answers.
func (d *deployable) get(t *testing.T, page string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.watched+page, nil)
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// deployment is the processes that make up an installation.
type deployment struct {
	t         *testing.T
	all       []deployable
	processes []*process
}

// deploy starts processes and waits until all are ready.
func deploy(t *testing.T, all []deployable) *deployment {
	t.Helper()
	d := &deployment{t: t, all: all}
	for i := range d.all {
		d.processes = append(d.processes, d.all[i].start(t))
	}
	for i := range d.all {
		one := &d.all[i]
		natstest.Eventually(t, patience, one.name+" to be ready", func() bool {
			status, _ := one.get(t, "/readyz")
			return status == http.StatusOK
		})
		status, _ := one.get(t, "/healthz")
		assert.Equal(t, http.StatusOK, status, one.name)
		status, body := one.get(t, "/metrics")
		assert.Equal(t, http.StatusOK, status, one.name)
		assert.Contains(t, body, "# TYPE ", one.name)
	}
	return d
}

// stop requires every process to end in good order.
func (d *deployment) stop() {
	d.t.Helper()
	for _, p := range d.processes {
		p.terminate()
	}
}

// requireWork creates a schedule of every second, triggers another and sees the runs of both complete.
func requireWork(t *testing.T, conn *nats.Conn, prefix string) {
	t.Helper()
	api, err := client.New(conn, client.Config{Prefix: prefix, Timeout: 30 * time.Second})
	require.NoError(t, err)
	noop := schedule.Action{Type: "noop", TaskQueue: "default"}
	beat := schedule.Schedule{
		Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}}, Action: noop,
	}
	for id, s := range map[string]schedule.Schedule{"beat": beat, "manual": {Action: noop}} {
		_, err := api.Create(t.Context(), schedule.CreateRequest{ID: id, Schedule: s})
		require.NoError(t, err)
	}
	_, err = api.Trigger(t.Context(), schedule.TriggerRequest{ID: "manual"})
	require.NoError(t, err)
	for id, least := range map[string]int{"beat": 2, "manual": 1} {
		natstest.Eventually(t, patience, "the runs of "+id+" to complete", func() bool {
			described, err := api.Describe(t.Context(), id)
			require.NoError(t, err)
			return len(slices.DeleteFunc(described.Info.RecentActions, func(r schedule.Run) bool {
				return r.Status != schedule.StatusCompleted
			})) >= least
		})
	}
}

// requireWorkflow lets a worker of Temporal's SDK run a workflow through the gateway, with an API key if there is one.
func (d *deployment) requireWorkflow(apiKey string) {
	d.t.Helper()
	i := slices.IndexFunc(d.all, func(one deployable) bool { return one.temporal != "" })
	require.GreaterOrEqual(d.t, i, 0, "there is a gateway")
	d.t.Run("workflow", func(t *testing.T) { // a test of its own, so that the worker stops before the gateway does
		s := &service{t: t, address: d.all[i].temporal, apiKey: apiKey}
		s.Client = s.dial()
		s.work(sdkworker.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		run := s.start("hello", hello, "world")
		var greeting string
		require.NoError(t, run.Get(ctx, &greeting))
		assert.Equal(t, "Hello, world!", greeting)
	})
}

// replaceEnv sets variables of the processes to their values in the test.
func replaceEnv(all []deployable, values map[string]string) {
	for i := range all {
		all[i].env = maps.Clone(all[i].env)
		for name, value := range values {
			if _, has := all[i].env[name]; has {
				all[i].env[name] = value
			}
		}
	}
}
