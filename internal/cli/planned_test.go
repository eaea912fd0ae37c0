package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	sixFields   = `warning: cron\[0\]: has six fields[^\n]*\n`
	unknownType = `warning: no worker of the task queue "default" that answered knows the action type "nop": did you mean "noop"\?\n`
)

// TestChangesShowWarnings: the commands that store a spec print the warnings of spec next, but not on stdout. They also warn if no worker
// knows the type of the action.
func TestChangesShowWarnings(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"create", "plain", "--every", "1h", "--type", "noop"}, ""},
		{[]string{"create", "six", "--cron", "0 9 1 * * *", "--type", "noop"}, sixFields},
		{[]string{"create", "days", "--cron", "0 9 * * 1", "--type", "noop", "--quiet"}, ""},
		{[]string{"create", "nop", "--every", "1h", "--type", "nop"}, unknownType},
		{[]string{"create", "early", "--every", "1h", "--type", "nop", "--task-queue", "no-worker-yet"}, ""},
		{[]string{"create", "quiet", "--every", "1h", "--type", "nop", "--quiet"}, ""},
		{[]string{"update", "plain", "--cron", "0 9 1 * * *"}, sixFields},
		{[]string{"update", "plain", "--every", "1h"}, ""},
		{[]string{"update", "plain", "--cron", "0 9 1 * * *", "--type", "nop"}, sixFields + unknownType},
	} {
		code, stdout, stderr := c.run(test.args...)
		require.Equal(t, ExitOK, code, stderr)
		assert.NotContains(t, stdout, "warning")
		assert.Regexp(t, "^"+test.want+"$", stderr, "%v", test.args)
	}
	code, stdout, stderr := c.edit("sed -i s/1h/30m/", "nop")
	require.Equal(t, ExitOK, code, stderr)
	assert.NotContains(t, stdout, "warning")
	assert.Regexp(t, "^"+unknownType+"$", stderr)
	server.stopped(t)
}

// TestApplyShowsWarnings: apply warns about times before it changes anything, and about types afterwards. It prints each warning once.
func TestApplyShowsWarnings(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	file := folder(t, map[string]string{
		"a.yaml": tickYAML + "---\nid: both\nspec: {cron: [\"0 9 1 * * *\"]}\naction: {type: nop}\n",
	})
	// about puts the name of the schedule before the warning.
	about := func(warning string) string { return "warning: both: " + warning[len("warning: "):] }
	for _, args := range [][]string{{"apply", "--dry-run"}, {"diff"}} {
		_, stdout, stderr := c.run(append(args, "--file", file)...)
		assert.NotContains(t, stdout, "warning")
		assert.Regexp(t, "^"+about(sixFields), stderr)
		assert.NotContains(t, stderr, "task queue")
	}
	code, stdout, stderr := c.run("apply", "--file", file, "--yes")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "created tick\ncreated both\n", stdout)
	assert.Regexp(t, "^"+about(sixFields)+about(unknownType)+"$", stderr)

	code, _, stderr = c.run("apply", "--file", file, "--yes")
	require.Equal(t, ExitOK, code, stderr)
	assert.Empty(t, stderr, "nothing is stored")

	file = folder(t, map[string]string{"a.yaml": "id: both\nspec: {cron: [\"0 9 2 * * *\"]}\naction: {type: nop}\n"})
	code, stdout, stderr = c.run("apply", "--file", file, "--yes", "-o", "json")
	require.Equal(t, ExitOK, code, stderr)
	var done struct{ Schedules []applyStep }
	require.NoError(t, json.Unmarshal([]byte(stdout), &done))
	require.Len(t, done.Schedules, 1)
	var codes []string
	for _, warning := range done.Schedules[0].Warnings {
		codes = append(codes, warning.Code)
	}
	assert.Equal(t, []string{"six_fields", "unknown_type"}, codes)
	server.stopped(t)
}
