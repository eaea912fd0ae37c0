//go:build unix

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// programs makes an exec action whose only program, "p", is a shell script.
func programs(t *testing.T, script string) *execAction {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	writeScript(t, path, script)
	commands, err := ParseCommands([]string{path})
	require.NoError(t, err)
	return &execAction{commands: commands}
}

// writeScript lets no other test start a process meanwhile: that would hold the file open for writing until it runs its own
// program, and a file that is open for writing cannot be run.
func writeScript(t *testing.T, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
}

func TestExecRuns(t *testing.T) {
	t.Parallel()
	action := programs(t, `read line; echo "{\"args\":\"$*\",\"in\":\"$line\",\"at\":\"$CARILLON_NOMINAL_TIME\"}"; echo warn >&2`)
	result, err := action.handle(t.Context(),
		sample("exec", `{"command":"p","args":["--day","{{nominalDate}}",";id","$HOME"],"stdin":"hello\n"}`))
	require.NoError(t, err)
	got := result.(ExecResult)
	assert.JSONEq(t, `{"args":"--day 2026-03-01 ;id $HOME","in":"hello","at":"2026-03-01T02:00:00Z"}`,
		string(got.Stdout.(json.RawMessage)))
	assert.Equal(t, "warn\n", got.Stderr)
	assert.False(t, got.Truncated)
}

func TestExecKeepsTheSecretsOfTheWorker(t *testing.T) {
	t.Setenv("CARILLON_NATS", "nats://user:secret@host")
	action := programs(t, "env")
	result, err := action.handle(t.Context(), sample("exec", `{"command":"p"}`))
	require.NoError(t, err)
	assert.NotContains(t, result.(ExecResult).Stdout, "secret")
	assert.Contains(t, result.(ExecResult).Stdout, "CARILLON_REQUEST_ID=request")
}

func TestExecFails(t *testing.T) {
	t.Parallel()
	action := programs(t, "echo out; echo first >&2; echo disk full >&2; exit 3")
	_, err := action.handle(t.Context(), sample("exec", `{"command":"p"}`))
	var typed *worker.Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, TypeExitStatus, typed.Type)
	assert.False(t, typed.NonRetryable)
	assert.Equal(t, "disk full", typed.Message)
	assert.Equal(t, map[string]any{"exitCode": 3, "stdout": "out", "stderr": "first\ndisk full\n"}, typed.Details)
}

func TestExecOutputIsBounded(t *testing.T) {
	t.Parallel()
	action := programs(t, "head -c 1000000 /dev/zero | tr '\\0' o; head -c 100000 /dev/zero | tr '\\0' e >&2; echo end >&2")
	result, err := action.handle(t.Context(), sample("exec", `{"command":"p"}`))
	require.NoError(t, err)
	got := result.(ExecResult)
	assert.True(t, got.Truncated)
	assert.Len(t, got.Stdout, maxOutput)
	assert.Len(t, got.Stderr, maxError)
	assert.True(t, strings.HasSuffix(got.Stderr, "eend\n"))
}

// TestExecKillsTheGroup: a cancel ends also what the program has started, and what ignores being asked.
func TestExecKillsTheGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	action := programs(t, "trap '' TERM\nsleep 600 &\necho $$ $! > \"$1\"\nwait\nsleep 600")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := action.handle(ctx, sample("exec", `{"command":"p","args":["`+file+`"]}`))
		ended <- err
	}()
	pids := awaitPids(t, file, 2)
	cancel(worker.ErrCanceled)
	require.ErrorIs(t, <-ended, worker.ErrCanceled)
	awaitEnd(t, pids)
}

// TestExecDiesWithTheWorker: neither the program nor what it has started outlives a worker that is killed, and runs beside the next
// attempt.
func TestExecDiesWithTheWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := executor{Program: filepath.Join(dir, "p"), File: filepath.Join(dir, "pids")}
	writeScript(t, e.Program, "trap '' TERM HUP\nsleep 600 &\nsh -c 'trap \"\" TERM HUP; echo $$; sleep 600' > \"$1.child\" &\n"+
		"until [ -s \"$1.child\" ]; do sleep 0.01; done\necho $$ $! $(cat \"$1.child\") > \"$1\"\nwait\nsleep 600")
	config, err := json.Marshal(e)
	require.NoError(t, err)
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), executorEnv+"="+string(config))
	require.NoError(t, process.Start())
	pids := awaitPids(t, e.File, 3)
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	awaitEnd(t, pids)
}

// TestExecNeedsNoGuard: where there is no shell, programs run all the same.
func TestExecNeedsNoGuard(t *testing.T) {
	t.Parallel()
	var none *guard
	none.watch(1)
	none.end()
	idle := startGuard()
	require.NotNil(t, idle)
	idle.end()
	assert.True(t, idle.process.ProcessState.Success(), "a guard that watches over nothing kills nothing")
}

// awaitPids waits until a file has the numbers of so many processes.
func awaitPids(t *testing.T, file string, count int) []int {
	t.Helper()
	var texts []string
	natstest.Eventually(t, natstest.Patience, "the program runs", func() bool {
		data, _ := os.ReadFile(file)
		texts = strings.Fields(string(data))
		return len(texts) == count
	})
	pids := make([]int, count)
	for i, text := range texts {
		var err error
		pids[i], err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return pids
}

// awaitEnd waits until processes have ended.
func awaitEnd(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		natstest.Eventually(t, natstest.Patience, fmt.Sprintf("process %d has ended", pid), func() bool {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid)
		})
	}
}

// isZombie: an orphan that has ended stays in the table of processes until its new parent looks.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestExecEndsInTime(t *testing.T) {
	t.Parallel()
	_, err := programs(t, "exec sleep 600").handle(t.Context(), sample("exec", `{"command":"p","timeout":"50ms"}`))
	require.ErrorContains(t, err, "the program has run for 50ms")
}

// TestExecRetriesBusyPrograms: a program that is being replaced in place is there again a moment later.
func TestExecRetriesBusyPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems run a script while it is being written")
	}
	action := programs(t, "echo new")
	file, err := os.OpenFile(action.commands["p"], os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = action.handle(t.Context(), sample("exec", `{"command":"p"}`))
	require.NoError(t, file.Close())
	requireExecError(t, err, true)

	result, err := action.handle(t.Context(), sample("exec", `{"command":"p"}`))
	require.NoError(t, err)
	assert.Equal(t, "new", result.(ExecResult).Stdout)
}

// requireExecError wants an error that says that a program could not be run, and whether that may be retried.
func requireExecError(t *testing.T, err error, retryable bool) {
	t.Helper()
	var typed *worker.Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, TypeExec, typed.Type)
	assert.Equal(t, retryable, !typed.NonRetryable, "%v", err)
}

func TestExecRefusesInputs(t *testing.T) {
	t.Parallel()
	action := programs(t, "exit 0")
	for input, want := range map[string]string{
		`{}`:                               "is not in the list of this worker, which has p",
		`{"command":"sh"}`:                 "is not in the list",
		`{"command":"/bin/sh"}`:            "is not in the list",
		`{"command":"p","timeout":"-1s"}`:  "timeout",
		`{"command":"p","args":["{{x}}"]}`: "placeholder",
		`{"command":"p","env":{"A":"b"}}`:  "env",
	} {
		_, err := action.handle(t.Context(), sample("exec", input))
		requireInvalid(t, err, want)
	}
	gone := &execAction{commands: map[string]string{"p": "/there/is/none"}}
	_, err := gone.handle(t.Context(), sample("exec", `{"command":"p"}`))
	requireExecError(t, err, false)
}

func TestParseCommands(t *testing.T) {
	t.Parallel()
	commands, err := ParseCommands([]string{"/bin/sh", "shell=/bin/sh"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"sh": "/bin/sh", "shell": "/bin/sh"}, commands)
	for _, texts := range [][]string{
		{"sh"}, {"a=sh"}, {"=/bin/sh"}, {"/bin"}, {"/there/is/none"}, {"/etc/passwd"}, {"/bin/sh", "sh=/bin/sh"}, {""},
	} {
		_, err := ParseCommands(texts)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument}, texts)
	}
}
