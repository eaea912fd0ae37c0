package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCompletionOfIDs: wherever a command expects an ID, the shell offers the schedules that begin with the typed text.
func TestCompletionOfIDs(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	for _, id := range []string{"nightly", "night-watch", "weekly"} {
		c.ok("create", id, "--every", "1h", "--type", "noop")
	}
	complete := func(args ...string) string {
		p := process{env: map[string]string{"CARILLON_NATS": url}}
		require.Equal(t, ExitOK, p.run(t.Context(), append([]string{"__complete"}, args...)...), p.stderr.String())
		return p.stdout.String()
	}
	const noFiles = ":4\n"
	assert.Equal(t, "night-watch\tevery 1h\nnightly\tevery 1h\n"+noFiles, complete("schedule", "describe", "nig"))
	assert.Equal(t, "weekly\tevery 1h\n"+noFiles, complete("run", "list", "w"))
	assert.Contains(t, complete("schedule", "pause", ""), "weekly")
	assert.Equal(t, noFiles, complete("schedule", "pause", "nightly", ""), "one is enough")
	assert.NotContains(t, complete("schedule", "create", "nig"), "nightly", "a new one")
	assert.Contains(t, complete("schedule", "descr"), "describe\t")
	server.stopped(t)

	var alone process
	assert.Equal(t, ExitOK, alone.run(t.Context(), "__complete", "schedule", "describe", "--nats", "nats://127.0.0.1:1", "n"))
	assert.Equal(t, ":1\n", alone.stdout.String(), "no server is no reason for a message in the middle of a command line")
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var p process
		require.Equal(t, ExitOK, p.run(t.Context(), "completion", shell), p.stderr.String())
		assert.Contains(t, p.stdout.String(), "carillon", shell)
	}
}
