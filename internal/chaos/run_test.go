package chaos

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/child"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// The settings of TestRun: how long it makes faults, with which seed, and the numbers of schedules and workflows. With a length but without a
// seed, the seed is random; the report contains it.
const (
	durationVariable  = "CARILLON_CHAOS_DURATION"
	seedVariable      = "CARILLON_CHAOS_SEED"
	schedulesVariable = "CARILLON_CHAOS_SCHEDULES"
	workflowsVariable = "CARILLON_CHAOS_WORKFLOWS"
)

// binaryDir contains the binary; TestMain removes it.
var binaryDir string

// carillon builds the program once.
var carillon = sync.OnceValues(func() (binary string, err error) {
	if binaryDir, err = os.MkdirTemp("", "carillon"); err != nil {
		return "", err
	}
	binary = filepath.Join(binaryDir, "carillon")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/carillon-scheduler/carillon/cmd/carillon").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build carillon: %w: %s", err, out)
	}
	return binary, nil
})

// chaosCommand is a run of the real program, whose temporary files go to a folder.
func chaosCommand(t *testing.T, temporary string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("a run takes too long for short mode")
	}
	binary, err := carillon()
	require.NoError(t, err)
	cmd := exec.Command(binary, append([]string{"chaos"}, args...)...)
	cmd.Env = append(child.Environment(), "TMPDIR="+temporary)
	cmd.WaitDelay = time.Minute
	return cmd
}

// TestRun makes a whole run. It takes its length, and then some time to come to rest.
func TestRun(t *testing.T) {
	t.Parallel()
	args := []string{
		"--json", "--settle", "5m", "--duration", cmp.Or(os.Getenv(durationVariable), "20s"),
		"--schedules", cmp.Or(os.Getenv(schedulesVariable), "40"), "--workflows", cmp.Or(os.Getenv(workflowsVariable), "40"),
	}
	if os.Getenv(durationVariable) == "" || os.Getenv(seedVariable) != "" {
		args = append(args, "--seed", cmp.Or(os.Getenv(seedVariable), "3"))
	}
	temporary := t.TempDir()
	cmd := chaosCommand(t, temporary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, err, "%s\n%s", &stdout, &stderr)
	t.Logf("%s", &stdout)

	var report Report
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report))
	assert.True(t, report.OK())
	assert.Positive(t, report.Expected)
	assert.Positive(t, report.Started)
	assert.Positive(t, report.Workflows.Started)
	assert.Equal(t, report.Workflows.Started, report.Workflows.Ended)
	assert.Positive(t, report.Workflows.Signals)
	assert.Equal(t, report.Workflows.Started, report.Workflows.Updates)
	assert.Equal(t, report.Workflows.Started, report.Workflows.Children)
	assert.NotEmpty(t, report.Faults)
	assert.Equal(t, report.Schedules, report.Requests[Create])
	for _, key := range []string{`"expected"`, `"started"`, `"missed": 0`, `"doubled": 0`, `"lost": 0`, `"faults"`} {
		assert.Contains(t, stdout.String(), key)
	}
	assert.NotContains(t, stdout.String(), temporary)
	requireEmpty(t, temporary)
}

// TestRunThatIsInterrupted: an interrupted run ends its processes and leaves nothing behind.
func TestRunThatIsInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("looks for its processes in /proc")
	}
	temporary := t.TempDir()
	cmd := chaosCommand(t, temporary, "--duration", "5m", "--schedules", "5")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	var err error
	end := sync.OnceFunc(func() { err = cmd.Wait() })
	defer end()
	defer func() { _ = cmd.Process.Kill() }() // first, in case the test fails earlier

	var children []int
	for deadline := time.Now().Add(patience); len(children) < nodeCount+len(roleNames()); {
		require.True(t, time.Now().Before(deadline), "%d processes", len(children))
		_ = sleep.For(t.Context(), 50*time.Millisecond)
		children = childrenOf(t, cmd.Process.Pid)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	end()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", &stderr)
	require.Equal(t, 1, exit.ExitCode(), "it has ended by itself")
	require.Contains(t, stderr.String(), "interrupted")
	require.Empty(t, stdout.String())
	requireEmpty(t, temporary)
	for _, pid := range children {
		require.NoDirExists(t, filepath.Join("/proc", strconv.Itoa(pid)))
	}
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// childrenOf finds the processes that a process has started.
func childrenOf(t *testing.T, parent int) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var children []int
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name before may have spaces
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			children = append(children, pid)
		}
	}
	return children
}
