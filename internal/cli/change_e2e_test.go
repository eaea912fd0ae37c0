package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// refused runs a command that must fail, and returns what it prints.
func (c cli) refused(wantCode int, want string, args ...string) (stdout string) {
	c.t.Helper()
	code, stdout, stderr := c.run(args...)
	assert.Equal(c.t, wantCode, code, args)
	assert.Contains(c.t, stderr, want)
	return stdout
}

// document reads a text that must be exactly one JSON document.
func document[T any](t *testing.T, text string) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}

func TestUpdateEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "x", "--every", "1h", "--cron", "@daily", "--type", "noop", "--notes", "old", "--paused", "--heartbeat-timeout", "10s")

	assert.Equal(t, "updated x: every 30m\n", c.ok("update", "x", "--every", "30m", "--run-timeout", "10m"))
	d := c.describe("x")
	assert.Empty(t, d.Spec.Cron, "the times are replaced together")
	assert.Equal(t, schedule.Duration(10*time.Minute), d.Action.RunTimeout)
	assert.Equal(t, schedule.Duration(10*time.Second), d.Action.HeartbeatTimeout)
	assert.Equal(t, "old", d.State.Notes, "what no flag names stays")
	c.refused(ExitUsage, "spec.cron[0]: ", "update", "x", "--cron", "* *")
	c.refused(ExitNotFound, "hint: carillon schedule list shows", "update", "nobody", "--every", "1h")

	file := filepath.Join(t.TempDir(), "x.yaml")
	p := &process{env: map[string]string{"CARILLON_NATS": url}, files: map[string]string{file: c.ok("describe", "x", "-o", "yaml")}}
	require.Equal(t, ExitOK, p.run(t.Context(), "schedule", "update", "--file", file, "--notes", "new", "-o", "json"), p.stderr.String())
	assert.Equal(t, "new", document[schedule.Description](t, p.stdout.String()).State.Notes)
	assert.Equal(t, ExitConflict, p.run(t.Context(), "schedule", "update", "--file", file))
	assert.Contains(t, p.stderr.String(), "is stale, the schedule has been changed since")
	assert.Contains(t, p.stderr.String(), "hint: look at it with: carillon schedule describe x")

	testUpdateMeanwhile(t, c)
	server.stopped(t)
}

// testUpdateMeanwhile changes a schedule while an update of it is being computed: at the moment when the update reads its input.
func testUpdateMeanwhile(t *testing.T, c cli) {
	t.Helper()
	p := &process{env: map[string]string{"CARILLON_NATS": c.nats}}
	env := p.Env()
	var once sync.Once
	env.ReadFile = func(string) ([]byte, error) {
		once.Do(func() { c.ok("update", "x", "--notes", "somebody else's") })
		return []byte(`{"a":1}`), nil
	}
	require.Equal(t, ExitOK, Main(t.Context(), env, []string{"schedule", "update", "x", "--input", "@input.json"}), p.stderr.String())
	d := c.describe("x")
	assert.JSONEq(t, `{"a":1}`, string(d.Action.Input))
	assert.Equal(t, "somebody else's", d.State.Notes, "both changes are there")
}

// edit runs schedule edit with an editor.
func (c cli) edit(editor string, args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats, "EDITOR": editor}}
	code = p.run(c.t.Context(), append([]string{"schedule", "edit"}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

// keptText returns the text of the file that an error names, and removes it.
func keptText(t *testing.T, stderr string) string {
	t.Helper()
	found := regexp.MustCompile(`your text is in (\S+)`).FindStringSubmatch(stderr)
	require.NotNil(t, found, stderr)
	text, err := os.ReadFile(found[1])
	require.NoError(t, err)
	require.NoError(t, os.Remove(found[1]))
	return string(text)
}

// script writes a shell script that acts as the editor, and returns its path. In the script, $1 is the file to edit and $dir a folder.
func script(t *testing.T, text string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "editor")
	require.NoError(t, os.WriteFile(path, []byte("dir='"+dir+"'\n"+text), 0o600))
	return "sh " + path, dir
}

func TestEditEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "x", "--every", "1h", "--type", "noop", "--paused")

	code, stdout, stderr := c.edit("sed -i s/1h/30m/", "x")
	assert.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "updated x: every 30m\n", stdout)

	for editor, wantCode := range map[string]int{"true": ExitOK, "truncate -s 0": ExitOK, "sed -i s/^#.*//": ExitOK} {
		code, stdout, stderr = c.edit(editor, "x")
		assert.Equal(t, wantCode, code, stderr)
		assert.Equal(t, "nothing changed\n", stdout, editor)
	}
	code, stdout, _ = c.edit("echo chatty #", "x", "-o", "json")
	assert.Equal(t, ExitOK, code)
	assert.Equal(t, "x", document[schedule.Description](t, stdout).ID)

	// The first time, the editor writes nonsense. The second time it sees the error at the top and corrects the text.
	mends, dir := script(t, `if grep -q '^# error: ' "$1"; then cp "$1" "$dir/seen"; sed -i s/evry/every/ "$1"
		else sed -i 's/every: .*/evry: 15m/' "$1"; fi`)
	code, stdout, stderr = c.edit(mends, "x")
	assert.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "updated x: every 15m\n", stdout)
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(seen), "# error: spec.intervals[0].evry: unknown field, did you mean every?\n# Schedule x"), string(seen))

	code, stdout, stderr = c.edit("sed -i s/every/evry/", "x")
	assert.Equal(t, ExitUsage, code)
	assert.Contains(t, stderr, "error: spec.intervals[0].evry: unknown field")
	assert.Contains(t, keptText(t, stderr), "evry: 15m")
	assert.Empty(t, stdout)

	code, _, stderr = c.edit("false", "x")
	assert.Equal(t, ExitFailure, code)
	assert.Equal(t, "error: the editor \"false\" failed: exit status 1\nhint: $VISUAL or $EDITOR names another one\n", stderr)
	code, _, stderr = c.edit("true", "nobody")
	assert.Equal(t, ExitNotFound, code)
	assert.Contains(t, stderr, `has no schedule "nobody"`)

	testEditMeanwhile(t, c)
	server.stopped(t)
}

// testEditMeanwhile changes a schedule while somebody else has it open in an editor.
func testEditMeanwhile(t *testing.T, c cli) {
	t.Helper()
	waits, dir := script(t, `sed -i s/15m/5m/ "$1"; touch "$dir/open"; while [ ! -e "$dir/go" ]; do sleep 0.05; done`)
	done := make(chan struct{})
	var code int
	var stderr string
	go func() {
		defer close(done)
		code, _, stderr = c.edit(waits, "x")
	}()
	natstest.Eventually(t, patience, "the editor is open", func() bool {
		_, err := os.Stat(filepath.Join(dir, "open"))
		return err == nil
	})
	c.ok("update", "x", "--notes", "somebody else's")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	<-done
	assert.Equal(t, ExitFailure, code)
	assert.Contains(t, stderr, "error: x has been changed by somebody else: nothing was done, and your text is in ")
	assert.Contains(t, stderr, "yours goes over it with: carillon schedule update x --file ")
	file := filepath.Join(dir, "kept.yaml")
	require.NoError(t, os.WriteFile(file, []byte(keptText(t, stderr)), 0o600))
	assert.Equal(t, "every 15m", c.words("x"))

	p := &process{env: map[string]string{"CARILLON_NATS": c.nats}}
	env := p.Env()
	env.ReadFile = os.ReadFile
	require.Equal(t, ExitOK, Main(t.Context(), env, []string{"schedule", "update", "x", "--file", file}), p.stderr.String())
	assert.Equal(t, "every 5m", c.words("x"), "the text goes over it, as the hint says")
}

// words returns the interval in the description of a schedule.
func (c cli) words(id string) string {
	c.t.Helper()
	return regexp.MustCompile(`every +\S+`).FindString(strings.ReplaceAll(c.ok("describe", id), "every  ", "every "))
}

func TestPatchAndSkipEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "x", "--every", "1h", "--type", "noop", "--time-zone", "Europe/Berlin")

	assert.Regexp(t, `^x skips \(Europe/Berlin\)\n(  \S.* CES?T  in \S+\n){2}$`, c.ok("skip", "x", "2", "--note", "why"))
	skips := document[schedule.SkipReply](t, c.ok("skip", "x", "-o", "json")).Skips
	require.Len(t, skips, 3, "the next one that is not to be skipped already")
	assert.Len(t, document[schedule.SkipReply](t, c.ok("unskip", "x", "--at", skips[0].Format(time.RFC3339), "-o", "json")).Skips, 2)
	assert.Equal(t, "x skips no times\n", c.ok("unskip", "x"))
	assert.Contains(t, c.ok("skip", "x", "--at", skips[1].Format(time.RFC3339)), "x skips (Europe/Berlin)\n")
	c.refused(ExitUsage, "is not a time of the spec: the nearest is ", "skip", "x", "--at", skips[1].Add(time.Minute).Format(time.RFC3339))

	assert.Equal(t, "patched x: paused, triggered, 1 backfill, took back all skips, skips 1 time\n",
		c.ok("patch", "x", "--pause", "--trigger", "--backfill", "-3h/-1h", "--overlap", "allow_all", "--unskip", "--skip", "1", "--note", "all"))
	d := c.until("x", "all runs have completed, and the backfill is over", func(d schedule.Description) bool {
		return completedRuns(d) == 3 && len(d.Info.Backfills) == 0
	})
	assert.True(t, d.State.Paused)
	assert.Equal(t, "all", d.State.Notes)
	assert.Len(t, d.Info.Skips, 1)

	before := c.describe("x")
	c.refused(ExitUsage, "is not a time of the spec", "patch", "x", "--unpause", "--trigger", "--skip-at", skips[2].Add(time.Minute).Format(time.RFC3339))
	after := c.describe("x")
	assert.True(t, after.State.Paused, "all of it or nothing")
	assert.Equal(t, before.ConflictToken, after.ConflictToken)
	assert.Empty(t, after.Info.Backfills)
	assert.Equal(t, before.Info.ActionCount, after.Info.ActionCount)

	c.ok("pause", "x", "--identity", "ann@desk")
	c.ok("update", "x", "--notes", "n", "--identity", "bob@desk")
	kinds := map[schedule.EventKind]string{}
	for _, event := range events(t, c.ok("history", "x", "-o", "json")) {
		kinds[event.Kind] = event.Identity
	}
	assert.Equal(t, "bob@desk", kinds[schedule.EventUpdated])
	assert.Equal(t, operator(), kinds[schedule.EventTriggered], "who runs the program, unless told otherwise")
	server.stopped(t)
}

func TestBackfillEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "quick", "--every", "1h", "--type", "noop", "--paused", "--backfill", "2026-01-01T00:00:00Z/2026-01-01T01:00:00Z", "--overlap", "buffer_all")
	c.until("quick", "the backfill of create is done", func(d schedule.Description) bool { return completedRuns(d) == 2 })

	out := c.ok("backfill", "quick", "--from", "2026-02-01T00:00:00Z", "--to", "2026-02-02T00:00:00Z", "--overlap", "allow_all", "--wait")
	assert.Regexp(t, `^backfilling quick as \S+\n((\d+/25|all started, )( ?.*)?\n)*all ended: 25 times, 25 completed\n$`, out)
	reply := document[schedule.BackfillReply](t, c.ok("backfill", "quick", "--from", "2026-02-01T00:00:00Z", "--to", "2026-02-01T02:00:00Z", "--overlap", "allow_all", "--wait", "-o", "json"))
	assert.NotEmpty(t, reply.BackfillID)
	c.refused(ExitNotFound, "hint: carillon schedule describe quick shows the triggers and backfills in progress", "cancel-backfill", "quick", reply.BackfillID)
	c.refused(ExitNotFound, `has no schedule "nobody"`, "backfill", "nobody", "--from", "-2h", "--to", "-1h", "--wait")

	c.ok("create", "slow", "--every", "1h", "--type", "sleep", "--input", `"1h"`, "--paused")
	wait := startDaemon(t, "schedule", "backfill", "slow", "--nats", url, "--overlap", "buffer_all", "--wait",
		"--from", "2026-02-01T00:00:00Z", "--to", "2026-02-02T00:00:00Z")
	id := wait.output(t, `backfilling slow as (\S+)`)
	wait.output(t, `\d/25`)
	assert.Equal(t, "canceled "+id+" of slow\n", c.ok("cancel-backfill", "slow", id, "--identity", "ann@desk"))
	assert.Equal(t, ExitFailure, <-wait.exit)
	assert.Regexp(t, `^error: the backfill was canceled by ann@desk after \d+ times?\n$`, wait.stderr.String())

	left := startDaemon(t, "schedule", "backfill", "slow", "--nats", url, "--overlap", "buffer_all", "--wait", "-o", "json",
		"--from", "2026-02-01T00:00:00Z", "--to", "2026-02-02T00:00:00Z")
	left.output(t, `backfillId(.)`)
	left.stop()
	assert.Equal(t, ExitFailure, <-left.exit, "a script must not take it for success")
	assert.Equal(t, "error: stopped waiting; what was asked for goes on\n", left.stderr.String())
	document[schedule.BackfillReply](t, left.stdout.String())
	server.stopped(t)
}

func TestBackfillWaitsForTheRuns(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "nap", "--every", "1h", "--type", "sleep", "--input", `"1h"`, "--paused")
	backfill := func(to string, more ...string) []string {
		return append([]string{"backfill", "nap", "--wait", "--from", "2026-02-01T00:00:00Z", "--to", to}, more...)
	}
	started := func(args []string) *daemon {
		return startDaemon(t, append([]string{"schedule"}, append(args, "--nats", url)...)...)
	}
	running := func(count int) []schedule.Run {
		return c.until("nap", "runs are in progress", func(d schedule.Description) bool {
			return len(d.Info.RunningWorkflows) == count && len(d.Info.Backfills) == 0
		}).Info.RunningWorkflows
	}

	c.ok("trigger", "nap") // a run of another source
	other := running(1)[0]
	wait := started(backfill("2026-02-01T01:00:00Z", "--overlap", "allow_all"))
	wait.output(t, `all started, 2 runs in (progress)`)
	for _, run := range running(3) {
		if run.RequestID != other.RequestID {
			p := process{env: map[string]string{"CARILLON_NATS": url}}
			require.Equal(t, ExitOK, p.run(t.Context(), "run", "terminate", "nap", run.RunID), p.stderr.String())
		}
	}
	assert.Equal(t, ExitFailure, <-wait.exit)
	assert.Contains(t, wait.stdout.String(), "all ended: 2 times, 2 terminated\n")
	assert.Equal(t, "error: 2 of 2 times did not complete: 2 terminated\n", wait.stderr.String())

	out := c.refused(ExitFailure, "error: 2 of 2 times did not complete: 2 skipped", backfill("2026-02-01T01:00:00Z", "--overlap", "skip")...)
	assert.Contains(t, out, "all ended: 2 times, 2 skipped\n")
	out = c.ok("backfill", "nap", "--wait", "--from", "2026-02-01T00:10:00Z", "--to", "2026-02-01T00:20:00Z")
	assert.Contains(t, out, "nothing is due in the range: no runs were started\n")

	gone := started(backfill("2026-02-01T00:00:00Z", "--overlap", "allow_all"))
	gone.output(t, `all started, 1 run in (progress)`)
	c.ok("delete", "nap")
	assert.Equal(t, ExitFailure, <-gone.exit)
	assert.Equal(t, "error: the schedule has been deleted, so it is not known what becomes of the runs of the backfill\n", gone.stderr.String())
	server.stopped(t)
}

func TestTriggerWaitEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "x", "--type", "noop", "--input", `{"month":1}`, "--overlap", "buffer_all")
	assert.Regexp(t, `^triggered x as \S+\nstarted \S+\ncompleted in \S+ \S+: \{"month":1\}\n$`, c.ok("trigger", "x", "--wait"))
	assert.Regexp(t, `: \{"month":2\}\n$`, c.ok("trigger", "x", "--wait", "--input", `{"month":2}`, "--header", "h=1", "--memo", `m="2"`))
	event := document[schedule.Event](t, c.ok("trigger", "x", "--wait", "-o", "json"))
	assert.Equal(t, schedule.EventCompleted, event.Kind)
	assert.JSONEq(t, `{"month":1}`, string(event.Result), "an override is for one run")
	c.refused(ExitNotFound, `has no schedule "nobody"`, "trigger", "nobody", "--wait")

	c.ok("create", "nap", "--type", "sleep", "--input", `"soon"`, "--overlap", "buffer_all")
	out := c.refused(ExitFailure, "error: the run has ended as failed: sleep needs an input", "trigger", "nap", "--wait")
	assert.NotContains(t, out, "completed")
	out = c.refused(ExitFailure, "error: the run has ended as failed: ", "trigger", "nap", "--wait", "-o", "json")
	assert.Equal(t, schedule.StatusFailed, document[schedule.Event](t, out).Status)

	wait := startDaemon(t, "schedule", "trigger", "nap", "--nats", url, "--wait", "--input", `"1h"`)
	wait.output(t, `(started) nap-`)
	c.refused(ExitFailure, "error: the run was skipped: ", "trigger", "nap", "--wait", "--overlap", "skip")
	second := startDaemon(t, "schedule", "trigger", "nap", "--nats", url, "--wait")
	second.output(t, `waits for a run in progress to end \(buffer_all\)()`)
	c.ok("cancel-backfill", "nap", second.output(t, `triggered nap as (\S+)`), "--identity", "ann@desk")
	assert.Equal(t, ExitFailure, <-second.exit)
	assert.Regexp(t, `^error: the (trigger was canceled by ann@desk|run was dropped: the backfill was canceled)\n$`, second.stderr.String())
	wait.stop()
	assert.Equal(t, ExitFailure, <-wait.exit)
	assert.Equal(t, "error: stopped waiting; what was asked for goes on\n", wait.stderr.String())

	gone := startDaemon(t, "schedule", "trigger", "nap", "--nats", url, "--wait", "--input", `"1h"`, "--overlap", "allow_all")
	gone.output(t, `(started) nap-`)
	c.ok("delete", "nap")
	assert.Equal(t, ExitFailure, <-gone.exit)
	assert.Contains(t, gone.stderr.String(), "error: the schedule has been deleted, so it is not known what becomes of the run")
	server.stopped(t)
}
