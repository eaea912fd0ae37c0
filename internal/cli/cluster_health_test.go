package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/diagnosis"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/schedule"
)

// cluster runs a subcommand of "cluster".
func (c cli) cluster(args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats}}
	code = p.run(c.t.Context(), append([]string{"cluster"}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func TestClusterHealthOfAServer(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	code, stdout, stderr := c.cluster("health", "--strict")
	require.Equal(t, ExitOK, code, "%s%s", stdout, stderr)
	assert.Equal(t, 16, strings.Count(stdout, "\n"), stdout)
	assert.Contains(t, stdout, "ok       installation  4 shards, 1 replica, 1 namespace\n")

	natstest.Eventually(t, natstest.Patience, "the process says which time zone data it has", func() bool {
		_, stdout, _ = c.cluster("health")
		return strings.Contains(stdout, "ok       time zones    data "+zonedata.Current().Version()+" in 1 process\n")
	})

	code, stdout, _ = c.cluster("info")
	require.Equal(t, ExitOK, code)
	assert.Regexp(t, `(?m)^Processes\n.*\n  \S+ +\d+ +frontend generator invoker backfiller history matching archival replication +\S+ +`+
		zonedata.Current().Version()+` \(`+zonedata.Current().Digest()+`\) +-$`, stdout)
	assert.Regexp(t, `(?m)^Shards +4$`, stdout)
	assert.Regexp(t, `(?m)^  CARILLON_EVENTS +\d+ +.*B +\S+.* 1 +carillon$`, stdout)

	c.ok("create", "x", "--type", "noop", "--task-queue", "nobodys")
	c.ok("trigger", "x")
	c.until("x", "its run waits", func(d schedule.Description) bool { return len(d.Info.RunningWorkflows) == 1 })
	code, stdout, _ = c.cluster("health", "-o", "json")
	assert.Equal(t, ExitOK, code, "a warning is none the worse")
	answer := document[healthAnswer](t, stdout)
	assert.Equal(t, diagnosis.Warning, answer.Status)
	code, stdout, stderr = c.cluster("health", "--strict", "--quiet")
	assert.Equal(t, ExitFailure, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "error: there are warnings\n", stderr)
	code, stdout, _ = c.cluster("health")
	assert.Equal(t, ExitOK, code)
	assert.Regexp(t, `(?m)^warning  workers +runs wait.* default/nobodys \(1 run\)\n +next: start a worker`, stdout)
	server.stopped(t)
}

func TestClusterHealthOfNobody(t *testing.T) {
	t.Parallel()
	c := cli{t, natstest.Shared(t).ClientURL()}
	code, stdout, stderr := c.cluster("health", "--prefix", "nobodys", "-o", "jsonl")
	assert.Equal(t, ExitFailure, code)
	assert.Equal(t, "error: something is wrong\n", stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, diagnosis.Failed, document[diagnosis.Check](t, lines[1]).Status)
	code, stdout, _ = c.cluster("info", "--prefix", "nobodys")
	assert.Equal(t, ExitOK, code)
	assert.Contains(t, stdout, "there is no installation of this prefix\n")
	c.nats = "nats://127.0.0.1:1"
	code, _, stderr = c.cluster("health")
	assert.Equal(t, ExitUnavailable, code)
	assert.Contains(t, stderr, "hint: start one with: carillon server")
}
