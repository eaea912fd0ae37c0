package cli

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// patience bounds every wait. It allows for a machine that is busy with other tests.
const patience = natstest.Patience

// daemon is a command that runs until it is told to stop.
type daemon struct {
	process
	stop func()
	exit chan int
}

func startDaemon(t *testing.T, args ...string) *daemon {
	t.Helper()
	return startDaemonIn(t, nil, args...)
}

// startDaemonIn starts a daemon with environment variables.
func startDaemonIn(t *testing.T, env map[string]string, args ...string) *daemon {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	for _, address := range []string{"CARILLON_GRPC", "CARILLON_CONSOLE"} {
		if _, set := env[address]; !set {
			env[address] = off // many servers run side by side: only one could have the default address
		}
	}
	d := &daemon{process: process{env: env}, stop: cancel, exit: make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.exit <- d.run(ctx, args...)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended // until then it writes to its folder
		if t.Failed() {
			t.Logf("%s wrote:\n%s%s", args[0], d.stdout.String(), d.stderr.String())
		}
	})
	return d
}

// stopped tells the daemon to stop and checks that it stops cleanly.
func (d *daemon) stopped(t *testing.T) {
	t.Helper()
	d.stop()
	select {
	case code := <-d.exit:
		assert.Equal(t, ExitOK, code, d.stderr.String())
	case <-time.After(patience):
		require.Fail(t, "does not stop")
	}
}

// output waits for a line on standard output and returns its first group.
func (d *daemon) output(t *testing.T, pattern string) string {
	t.Helper()
	line := regexp.MustCompile(pattern)
	var found []string
	natstest.Eventually(t, patience, "the output has "+pattern, func() bool {
		found = line.FindStringSubmatch(d.stdout.String())
		return found != nil || len(d.exit) > 0
	})
	require.NotNil(t, found, "it ended: %s", d.stderr.String())
	return found[len(found)-1]
}

// startServer runs "carillon server" and returns it with the URL of its NATS server.
func startServer(t *testing.T, args ...string) (*daemon, string) {
	t.Helper()
	d := startDaemon(t, append([]string{"server", "--port", "-1", "--log-level", "warn"}, args...)...)
	return d, d.output(t, `NATS +((?:nats|tls)://\S+)`)
}

// cli runs schedule commands against a server.
type cli struct {
	t    *testing.T
	nats string
}

func (c cli) run(args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats}}
	code = p.run(c.t.Context(), append([]string{"schedule"}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func (c cli) ok(args ...string) string {
	c.t.Helper()
	code, stdout, stderr := c.run(args...)
	require.Equal(c.t, ExitOK, code, "%v: %s", args, stderr)
	return stdout
}

func (c cli) fails(wantCode int, want string, args ...string) {
	c.t.Helper()
	code, _, stderr := c.run(args...)
	assert.Equal(c.t, wantCode, code)
	assert.Contains(c.t, stderr, want)
}

func (c cli) describe(id string) schedule.Description {
	c.t.Helper()
	var d schedule.Description
	require.NoError(c.t, json.Unmarshal([]byte(c.ok("describe", id, "-o", "json")), &d))
	return d
}

// until describes a schedule repeatedly until a condition holds.
func (c cli) until(id, what string, holds func(schedule.Description) bool) schedule.Description {
	c.t.Helper()
	var d schedule.Description
	natstest.Eventually(c.t, patience, what, func() bool {
		d = c.describe(id)
		return holds(d)
	})
	return d
}

func completedRuns(d schedule.Description) int {
	n := 0
	for _, run := range d.Info.RecentActions {
		if run.Status == schedule.StatusCompleted {
			n++
		}
	}
	return n
}

func TestServerEndToEnd(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server, url := startServer(t, "--data", data)
	c := cli{t, url}

	assert.Equal(t, "no schedules\n", c.ok("list"))
	assert.Equal(t, "[]\n", c.ok("list", "-o", "json"))
	assert.Contains(t, c.ok("create", "tick", "--every", "1s", "--type", "noop", "--overlap", "buffer_all"), "created tick: every 1s")
	c.ok("create", "manual", "--type", "noop", "--input", `{"a": 1}`, "--notes", "on demand")

	d := c.until("tick", "an action has completed", func(d schedule.Description) bool { return completedRuns(d) > 0 })
	assert.GreaterOrEqual(t, d.Info.ActionCount, int64(1))
	assert.Contains(t, c.ok("describe", "tick"), "completed")
	assert.Contains(t, c.ok("list"), "every 1s")
	assert.Contains(t, c.ok("list", "-o", "yaml"), "- namespace: default\n  id: manual\n")
	assert.NotContains(t, c.ok("list", "--id-prefix", "t"), "manual")

	assert.Regexp(t, `^triggered manual as \S+\n$`, c.ok("trigger", "manual", "--note", "by hand"))
	d = c.until("manual", "the triggered run has completed", func(d schedule.Description) bool { return completedRuns(d) == 1 })
	assert.True(t, d.Info.RecentActions[0].Manual)

	assert.Equal(t, "paused tick\n", c.ok("pause", "tick", "--note", "wait"))
	d = c.describe("tick")
	assert.True(t, d.State.Paused)
	assert.Equal(t, "wait", d.State.Notes)
	assert.Equal(t, "unpaused tick\n", c.ok("unpause", "tick"))

	assert.Equal(t, "{}\n", c.ok("pause", "tick", "-o", "json"), "nothing is an answer too")
	c.ok("unpause", "tick")

	assert.Equal(t, "deleted manual\n", c.ok("delete", "manual"))
	c.fails(ExitNotFound, "hint: carillon schedule list shows the schedules of namespace default", "describe", "manual")
	c.fails(ExitConflict, "hint: look at it with: carillon schedule describe tick", "create", "tick", "--every", "1s", "--type", "noop")
	c.fails(ExitNotFound, "error: ", "list", "--namespace", "nobodys")

	before := c.describe("tick").Info.ActionCount
	server.stopped(t)
	assert.Contains(t, server.stdout.String(), "stopped: started again, it goes on where it was")

	server, url = startServer(t, "--data", data)
	c.nats = url
	c.until("tick", "it goes on", func(d schedule.Description) bool { return d.Info.ActionCount > before })
	server.stopped(t)
}

// TestDemo watches the demo, stops it, restarts it, and checks that it continues.
func TestDemo(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server, url := startServer(t, "--data", data, "--demo")
	server.output(t, `completed +demo-interval +\d\d:\d\d:\d\d +\S+ m?s  took`)
	list := (cli{t, url}).ok("list", "-o", "json")
	var schedules []schedule.Description
	require.NoError(t, json.Unmarshal([]byte(list), &schedules))
	assert.Len(t, schedules, 3)
	server.stopped(t)
	assert.NotContains(t, server.stdout.String(), "continuing")

	server, _ = startServer(t, "--data", data, "--demo")
	server.output(t, `continuing: demo-interval after the action of `)
	server.output(t, `(completed|caught up) +demo-interval`)
	server.stopped(t)
	assert.Empty(t, server.stderr.String())
}

// TestRolesApart runs every role in processes of its own, two for each role, on a separate NATS server.
func TestRolesApart(t *testing.T) {
	t.Parallel()
	nats := natstest.Server(t)
	var daemons []*daemon
	for _, role := range []string{"frontend", "generator", "invoker", "backfiller", "history", "matching", "worker"} {
		for range 2 {
			daemons = append(daemons, startDaemon(t, role, "--nats", nats.ClientURL(), "--prefix", "apart"))
		}
	}
	for _, d := range daemons {
		natstest.Eventually(t, patience, "the role runs", func() bool {
			return strings.Contains(d.stderr.String(), "msg=running")
		})
	}
	c := cli{t, nats.ClientURL()}
	natstest.Eventually(t, patience, "a frontend answers", func() bool {
		code, _, _ := c.run("list", "--prefix", "apart")
		return code == ExitOK
	})
	c.ok("create", "once", "--prefix", "apart", "--type", "noop", "--trigger", "--every", "1s")
	natstest.Eventually(t, patience, "an action of each kind has completed", func() bool {
		runs := process{env: map[string]string{"CARILLON_NATS": c.nats}} // all of them: a slow machine sees the last ten too late
		code := runs.run(t.Context(), "run", "list", "once", "--prefix", "apart", "--status", "completed", "--limit", "1000")
		text := runs.stdout.String()
		return code == ExitOK && strings.Contains(text, " manual  completed") && strings.Count(text, "completed") > 1
	})
	for _, d := range daemons {
		d.stopped(t)
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	port := url[strings.LastIndex(url, ":")+1:]

	var taken process
	assert.Equal(t, ExitConflict, taken.run(t.Context(), "server", "--port", port, "--data", t.TempDir()))
	assert.Contains(t, taken.stderr.String(), "is in use: if that is a NATS server, use it with --nats nats://127.0.0.1:"+port)

	var shards process
	assert.Equal(t, ExitConflict, shards.run(t.Context(), "generator", "--nats", url, "--shards", "7", "--log-level", "error"))
	assert.Contains(t, shards.stderr.String(), "the cluster was initialised with 4 shards, and this process was told 7")
	server.stopped(t)
}
