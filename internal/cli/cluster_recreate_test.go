package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestClusterRecreate recreates a stream under a running server, and a bucket in the data folder of a server that does not start without
// it.
func TestClusterRecreate(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server, url := startServer(t, "--data", data)
	c := cli{t, url}
	conn, js := natstest.Connect(t, url)
	require.NoError(t, js.DeleteStream(t.Context(), "CARILLON_EVENTS"))
	code, stdout, _ := c.cluster("health")
	assert.Equal(t, ExitFailure, code)
	assert.Regexp(t, `(?m)^failed   installation  missing: stream CARILLON_EVENTS\n +next: .*carillon cluster recreate CARILLON_EVENTS`, stdout)
	code, stdout, stderr := c.cluster("recreate", "CARILLON_EVENTS")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "there now: CARILLON_EVENTS\n", stdout)
	code, stdout, _ = c.cluster("health")
	assert.Equal(t, ExitOK, code, stdout)
	require.NoError(t, js.DeleteKeyValue(t.Context(), "carillon-state-2"))
	conn.Close()
	server.stopped(t)

	var p process
	assert.Equal(t, ExitConflict, p.run(t.Context(), "server", "--data", data, "--port", "-1", "--log-level", "error"))
	assert.Contains(t, p.stderr.String(), "the bucket carillon-state-2 is gone, with it the schedules of a shard")
	p = process{}
	require.Equal(t, ExitOK, p.run(t.Context(), "cluster", "recreate", "carillon-state-2", "--data", data, "--log-level", "error"), p.stderr.String())
	server, _ = startServer(t, "--data", data)
	server.stopped(t)
}

func TestClusterRecreateUsage(t *testing.T) {
	t.Parallel()
	var p process
	assert.Equal(t, ExitUsage, p.run(t.Context(), "cluster", "recreate"))
	assert.Equal(t, "error: NAME is missing\nhint: usage: carillon cluster recreate NAME... [flags]\n", p.stderr.String())
	p = process{}
	assert.Equal(t, ExitUsage, p.run(t.Context(), "cluster", "recreate", "a", "--data", "b", "--nats", "c"))
	assert.Contains(t, p.stderr.String(), "name two NATS servers")
}
