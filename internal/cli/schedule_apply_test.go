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
	"github.com/carillon-scheduler/carillon/internal/apitext"
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
	found, err := env.readManifests(dir, "default")
	require.NoError(t, err)
	require.Len(t, found, 3)
	assert.Equal(t, "tick", found[0].ID)
	assert.Equal(t, "default", found[0].Action.TaskQueue)
	assert.Equal(t, "reports", found[1].Action.TaskQueue)
	assert.Equal(t, filepath.Join(dir, "deep/b.json"), found[2].file)
	found, err = env.readManifests("-", "default")
	require.NoError(t, err)
	require.Len(t, found, 1)
	_, err = env.readManifests("/there/is/none", "default")
	require.ErrorContains(t, err, "/there/is/none")
}

// TestReadManifestsErrors: the error lists everything that is wrong, and nothing is applied.
func TestReadManifestsErrors(t *testing.T) {
	t.Parallel()
	const wrong = "id: wrong\nspec: {cron: [\"99 * * * *\"]}\naction: {type: noop}\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"none":         {map[string]string{"readme.txt": tickYAML}, []string{"there is no schedule"}},
		"comments":     {map[string]string{"a.yaml": "# none\n---\n---\n"}, []string{"there is no schedule"}},
		"twice":        {map[string]string{"a.yaml": tickYAML, "b.yml": tickYAML}, []string{`schedule "tick" is defined twice`}},
		"no ID":        {map[string]string{"a.yaml": "action: {type: noop}"}, []string{`schedule ""`}},
		"no type":      {map[string]string{"a.yaml": "id: x"}, []string{`schedule "x": action.type`}},
		"unknown":      {map[string]string{"a.yaml": tickYAML + "triggerNow: true\n"}, []string{"triggerNow: unknown field"}},
		"misspelled":   {map[string]string{"a.yaml": tickYAML + "sate: {paused: true}\n"}, []string{"sate: unknown field, did you mean state?"}},
		"empty queue":  {map[string]string{"a.yaml": "id: x\naction: {type: noop, taskQueue: \"\"}"}, []string{"action.taskQueue: is empty"}},
		"old boolean":  {map[string]string{"a.yaml": tickYAML + "state: {paused: yes}\n"}, []string{`state.paused: must be true or false, not "yes"`}},
		"octal":        {map[string]string{"a.yaml": tickYAML + "state: {remainingActions: 010}\n"}, []string{"state.remainingActions: 010 is not a number"}},
		"document":     {map[string]string{"a.yaml": tickYAML + "---\nid: [x]\n"}, []string{"a.yaml: document 2: id: must be a string"}},
		"a list":       {map[string]string{"a.yaml": "schedules:\n- id: x\n"}, []string{"schedules: this is a list: carillon schedule export"}},
		"a sequence":   {map[string]string{"a.yaml": "- id: x\n"}, []string{"must be an object, not a list"}},
		"bare star":    {map[string]string{"a.yaml": "id: x\nspec:\n  cron:\n    - */5 * * * *\n"}, []string{`line 4: put "*/5 * * * *" in quotes`}},
		"bare macro":   {map[string]string{"a.yaml": "id: x\nspec: {cron: [@daily]}\n"}, []string{`line 2: put "@daily" in quotes`}},
		"tab":          {map[string]string{"a.yaml": "id: x\nspec:\n\tcron: []\n"}, []string{"line 3: is indented by a tab"}},
		"namespace":    {map[string]string{"a.yaml": "namespace: other\n" + tickYAML}, []string{`namespace: is "other", but the command is about "default"`}},
		"in described": {map[string]string{"a.yaml": "info: {}\nsate: {}\n" + tickYAML}, []string{"sate: unknown field, did you mean state?"}},
		"all are named": {map[string]string{
			"a.yaml": tickYAML + "---\nid: [x]\n---\nido: y\n", "b.yaml": wrong, "c.json": "{", "d.yaml": tickYAML,
		}, []string{
			"a.yaml: document 2: id", "a.yaml: document 3: ido: unknown field, did you mean id?", `b.yaml: schedule "wrong": spec.cron[0]`,
			"c.json: is not valid YAML", `schedule "tick" is defined twice`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Env{ReadFile: os.ReadFile}.readManifests(folder(t, test.files), "default")
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			require.Equal(t, ExitUsage, exitCode(&runError{err}))
		})
	}
}

// TestManifestsOfDescribe: the output of describe can be applied. A note says once that the computed parts are left out.
func TestManifestsOfDescribe(t *testing.T) {
	t.Parallel()
	described := func(id string) []byte {
		text, err := apitext.EncodeYAML(schedule.Description{
			Namespace: "default", ID: id, ConflictToken: 7, Info: schedule.Info{ActionCount: 3, PausedBy: "somebody"},
			Schedule: schedule.Schedule{
				Action: schedule.Action{Type: "noop", TaskQueue: "q"}, State: schedule.State{Paused: true}, Policies: schedule.Policies{PauseOnFailure: true},
			},
		})
		require.NoError(t, err)
		return text
	}
	dir := folder(t, map[string]string{"a.yaml": string(described("a")), "b.yaml": string(described("b")) + "---\n" + tickYAML})
	p := process{}
	env := p.Env()
	found, err := env.readManifests(dir, "default")
	require.NoError(t, err)
	require.Len(t, found, 3)
	assert.Equal(t, "a", found[0].ID)
	assert.True(t, found[0].State.Paused)
	assert.False(t, found[0].keepState)
	assert.True(t, found[0].Policies.PauseOnFailure)
	assert.Equal(t, "q", found[0].Action.TaskQueue)
	assert.Equal(t, 1, strings.Count(p.stderr.String(), "note: namespace, info and conflictToken"))
}

// TestStateOfManifests: if a file names a field of the state, the file decides about the state, whatever the values.
func TestStateOfManifests(t *testing.T) {
	t.Parallel()
	for text, keeps := range map[string]bool{
		"": true, "state:": true, "state: null": true, "state: {}": true, "state: {paused: null}": true,
		"state: {paused: false}": false, "state: {paused: true}": false, `state: {notes: ""}`: false, "state: {limitedActions: false}": false,
		"state: {remainingActions: 0}": false,
	} {
		env := Env{Stdin: strings.NewReader(tickYAML + text)}
		found, err := env.readManifests("-", "default")
		require.NoError(t, err, text)
		assert.Equal(t, keeps, found[0].keepState, text)
		now := map[string]schedule.Description{"tick": {Schedule: found[0].Schedule}}
		before := now["tick"]
		before.State = schedule.State{Paused: true, Notes: "maintenance", LimitedActions: true, RemainingActions: 3}
		now["tick"] = before
		steps, err := planApply(found, now)
		require.NoError(t, err)
		if keeps {
			assert.Equal(t, applyKeep, steps[0].Action, text)
			continue
		}
		assert.Equal(t, applyUpdate, steps[0].Action, text)
		assert.Equal(t, found[0].State, steps[0].wanted.State, text)
		assert.Contains(t, steps[0].Diff, "-  notes: maintenance", text)
	}
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
		{ID: "new", Schedule: plain, file: "a"}, {ID: "same", Schedule: plain}, {ID: "paused", Schedule: plain, keepState: true},
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

// TestApplyEndToEnd: applying files creates their schedules. Applying them again changes nothing.
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
	requireUnpausedByFile(t, c)
	requireUntouched(t, c)
	server.stopped(t)
}

// requireUnpausedByFile: the state in a file counts, and the output of describe is a valid file.
func requireUnpausedByFile(t *testing.T, c cli) {
	t.Helper()
	code, described, _ := c.run("describe", "tick", "-o", "yaml")
	require.Equal(t, ExitOK, code)
	assert.Contains(t, described, "paused: true")
	paused, running := filepath.Join(t.TempDir(), "paused.yaml"), filepath.Join(t.TempDir(), "running.yaml")
	require.NoError(t, os.WriteFile(paused, []byte(described), 0o600))
	unpaused := strings.Replace(strings.Replace(described, "paused: true", "paused: false", 1), "notes: maintenance", `notes: ""`, 1)
	require.NoError(t, os.WriteFile(running, []byte(unpaused), 0o600))
	code, stdout, stderr := c.run("diff", "--file", paused)
	assert.Equal(t, ExitOK, code, stderr)
	assert.Contains(t, stderr, "note: namespace, info and conflictToken")
	assert.Equal(t, "1 unchanged\n", stdout)
	code, stdout, _ = c.run("diff", "--file", running)
	assert.Equal(t, ExitFailure, code)
	assert.Contains(t, stdout, "-  paused: true")
	code, _, stderr = c.run("apply", "--file", running, "--yes")
	require.Equal(t, ExitOK, code, stderr)
	code, stdout, _ = c.run("describe", "tick", "-o", "yaml")
	require.Equal(t, ExitOK, code)
	assert.NotContains(t, stdout, "paused: true")
	code, stdout, _ = c.run("diff", "--file", running)
	assert.Equal(t, ExitOK, code)
	assert.Equal(t, "1 unchanged\n", stdout)
}

// requireUntouched plans to change a schedule. Somebody else changes it before the plan is carried out.
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
