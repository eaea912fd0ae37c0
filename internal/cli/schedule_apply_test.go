package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	tickYAML  = "id: tick\nspec:\n  intervals:\n    - every: 1h\naction:\n  type: noop\n"
	nightYAML = "id: nightly\nspec:\n  cron: [\"0 2 * * *\"]\naction:\n  type: noop\n  taskQueue: reports\n"
)

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestReadManifests(t *testing.T) {
	t.Parallel()
	env := Env{ReadFile: os.ReadFile, Stdin: strings.NewReader(tickYAML)}
	dir := folder(t, map[string]string{
		"a.yaml": tickYAML + "---\n" + nightYAML, "deep/b.json": `{"id": "b", "action": {"type": "noop"}}`, "readme.txt": "no",
	})
	found, err := env.readManifests(dir)
	require.NoError(t, err)
	require.Len(t, found, 3)
	assert.Equal(t, "tick", found[0].ID)
	assert.Equal(t, "default", found[0].Action.TaskQueue)
	assert.Equal(t, "reports", found[1].Action.TaskQueue)
	assert.Equal(t, filepath.Join(dir, "deep/b.json"), found[2].file)
	found, err = env.readManifests("-")
	require.NoError(t, err)
	require.Len(t, found, 1)

	for want, files := range map[string]map[string]string{
		"there is no schedule":         {"readme.txt": tickYAML},
		`schedule "tick" stands twice`: {"a.yaml": tickYAML, "b.yml": tickYAML},
		`schedule ""`:                  {"a.yaml": "action: {type: noop}"},
		`schedule "x": action.type`:    {"a.yaml": "id: x"},
		"triggerNow":                   {"a.yaml": tickYAML + "triggerNow: true\n"},
		"document 2":                   {"a.yaml": tickYAML + "---\nid: [x]\n"},
	} {
		_, err := env.readManifests(folder(t, files))
		require.ErrorContains(t, err, want)
		require.Equal(t, ExitUsage, exitCode(&runError{err}), want)
	}
	_, err = env.readManifests("/there/is/none")
	require.ErrorContains(t, err, "/there/is/none")
}

func TestPlanApply(t *testing.T) {
	t.Parallel()
	plain := schedule.Schedule{Action: schedule.Action{Type: "noop", TaskQueue: "q"}}
	paused := plain
	paused.State = schedule.State{Paused: true, Notes: "maintenance"}
	other := plain
	other.Action.Type = "sleep"
	current := map[string]schedule.Description{
		"same": {Schedule: plain}, "paused": {Schedule: paused}, "other": {Schedule: plain, ConflictToken: 7}, "gone": {Schedule: plain, ConflictToken: 8},
	}
	steps, err := planApply([]manifest{
		{ID: "new", Schedule: plain, file: "a"}, {ID: "same", Schedule: plain}, {ID: "paused", Schedule: plain},
		{ID: "other", Schedule: other},
	}, current)
	require.NoError(t, err)
	require.Len(t, steps, 5)
	assert.Equal(t, []string{"create", "keep", "keep", "update", "delete"},
		[]string{steps[0].Action, steps[1].Action, steps[2].Action, steps[3].Action, steps[4].Action})
	assert.Contains(t, steps[0].Diff, "+++ files/new")
	assert.Contains(t, steps[3].Diff, "-  type: noop\n+  type: sleep\n")
	assert.EqualValues(t, 7, steps[3].token)
	assert.Equal(t, "gone", steps[4].ID)
	assert.EqualValues(t, 8, steps[4].token)
	assert.Equal(t, "1 to create, 1 to update, 1 to delete, 2 unchanged", summaryOf(steps))

	running := plain
	running.State = schedule.State{Notes: "by hand"}
	steps, err = planApply([]manifest{{ID: "paused", Schedule: running}}, map[string]schedule.Description{"paused": {Schedule: paused}})
	require.NoError(t, err)
	assert.Equal(t, applyUpdate, steps[0].Action, "a file that says something of the state decides")
	assert.False(t, steps[0].wanted.State.Paused)
}

func TestApplyUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--file is missing":   {"apply"},
		"--prune needs --set": {"apply", "--file", "x", "--prune"},
		"/there/is/none":      {"diff", "--file", "/there/is/none"},
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"schedule"}, args...)...), want)
		assert.Contains(t, p.stderr.String(), want)
	}
}

// TestApplyEndToEnd: what is in the files is made, once.
func TestApplyEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	dir := folder(t, map[string]string{"tick.yaml": tickYAML, "nightly.yaml": nightYAML})

	code, _, stderr := c.run("apply", "--file", dir)
	assert.Equal(t, ExitUsage, code, "nobody to ask")
	assert.Contains(t, stderr, "--yes")
	code, stdout, _ := c.run("apply", "--file", dir, "--dry-run")
	assert.Equal(t, ExitOK, code)
	assert.Contains(t, stdout, "create tick")
	assert.Contains(t, stdout, "2 to create\n")
	code, stdout, stderr = c.run("diff", "--file", dir)
	assert.Equal(t, ExitFailure, code)
	assert.Contains(t, stdout, "+  type: noop")
	assert.Contains(t, stderr, "the schedules differ: 2 to create")

	code, stdout, stderr = c.run("apply", "--file", dir, "--set", "billing", "--yes")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "created nightly\ncreated tick\n", stdout)
	code, stdout, _ = c.run("apply", "--file", dir, "--set", "billing")
	assert.Equal(t, ExitOK, code, "there is nothing to ask about")
	assert.Equal(t, "2 unchanged\n", stdout)

	code, _, stderr = c.run("pause", "tick", "--note", "maintenance")
	require.Equal(t, ExitOK, code, stderr)
	code, _, stderr = c.run("create", "apart", "--every", "1h", "--type", "noop")
	require.Equal(t, ExitOK, code, stderr)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tick.yaml"), []byte(strings.Replace(tickYAML, "1h", "2h", 1)), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "nightly.yaml")))
	code, stdout, stderr = c.run("apply", "--file", dir, "--set", "billing", "--prune", "--yes")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "updated tick\ndeleted nightly\n", stdout)
	code, stdout, _ = c.run("describe", "tick", "-o", "json")
	require.Equal(t, ExitOK, code)
	var tick schedule.Description
	require.NoError(t, json.Unmarshal([]byte(stdout), &tick))
	assert.True(t, tick.State.Paused, "stays paused")
	assert.Equal(t, "2h0m0s", tick.Spec.Intervals[0].Every.Std().String())

	code, exported, _ := c.run("export")
	require.Equal(t, ExitOK, code)
	file := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(exported), 0o600))
	code, stdout, _ = c.run("diff", "--file", file)
	assert.Equal(t, ExitOK, code)
	assert.Equal(t, "2 unchanged\n", stdout)
	code, one, _ := c.run("export", "apart")
	require.Equal(t, ExitOK, code)
	assert.Contains(t, one, "id: apart\n")
	assert.NotContains(t, one, "tick")
	requireUntouched(t, c)
	server.stopped(t)
}

// requireUntouched plans to change a schedule, which somebody else then does before.
func requireUntouched(t *testing.T, c cli) {
	t.Helper()
	conn, err := nats.Connect(c.nats)
	require.NoError(t, err)
	defer conn.Close()
	api, err := client.New(conn, client.Config{})
	require.NoError(t, err)
	before, err := api.Describe(t.Context(), "apart")
	require.NoError(t, err)
	require.NoError(t, api.Pause(t.Context(), "apart", ""))
	for _, action := range []string{applyUpdate, applyDelete} {
		step := applyStep{ID: "apart", Action: action, wanted: before.Schedule, token: before.ConflictToken}
		require.ErrorContains(t, carryOut(t.Context(), api, &step), "has been changed by somebody else in the meantime", action)
	}
	after, err := api.Describe(t.Context(), "apart")
	require.NoError(t, err)
	assert.True(t, after.State.Paused)
}
