package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/subjects"
)

// program builds the program, whose processes a run starts.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	binary := filepath.Join(t.TempDir(), "carillon")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/carillon-scheduler/carillon/cmd/carillon").CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// TestProcesses: everything runs once with each role in a process of its own, at a distance, across a restart. The figures say
// what each of the processes used. Nothing is left behind.
func TestProcesses(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Processes, c.Binary, c.RoundTrip = true, program(t), 2*time.Millisecond
	c.Shards, c.Scale = 2, map[string]int{"history": 2}
	s := recoverScenario()
	p := tiny(s)
	r, err := Run(t.Context(), s, p, c)
	require.NoError(t, err)
	checkResult(t, r)
	assert.True(t, r.Environment.Processes)
	assert.EqualValues(t, 2, r.Environment.RoundTrip)
	for _, name := range append([]string{processBench, processNATS, "history-2"}, roleProcesses...) {
		assert.Contains(t, r.Processes, name)
	}
	left, err := os.ReadDir(c.Dir)
	require.NoError(t, err)
	assert.Empty(t, left, "the data is removed")
}

func TestEveryPoolIsAProcess(t *testing.T) {
	t.Parallel()
	assert.ElementsMatch(t, append([]string{"frontend", roleGateway, "matching"}, subjects.Pools()...), roleProcesses)
}

// TestAProcessThatEnds: a process that ends by itself breaks the run off, with its last output.
func TestAProcessThatEnds(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "carillon")
	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\necho no room >&2\nexit 3\n"), 0o700))
	ctx, fail := context.WithCancelCause(t.Context())
	defer fail(nil)
	c, err := newChildren(binary, fail)
	require.NoError(t, err)
	defer c.close()
	_, err = c.startNATS(ctx, t.TempDir(), "interval")
	require.Error(t, err)
	<-ctx.Done()
	require.ErrorContains(t, context.Cause(ctx), "the process of nats has ended by itself: exit status 3: no room")
	c.stop(processNATS)
	assert.Empty(t, c.all)
}

func TestTail(t *testing.T) {
	t.Parallel()
	var log tail
	_, err := log.Write([]byte(strings.Repeat("x", tailBytes)))
	require.NoError(t, err)
	_, err = log.Write([]byte(" end\n"))
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(log.text(), "x end"))
	assert.LessOrEqual(t, len(log.text()), tailBytes)
}
