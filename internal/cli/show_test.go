package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestShowHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"schedule history", "schedule watch", "schedule next", "schedule count", "run", "run list", "run describe",
		"run watch", "run cancel", "run terminate",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitOK, p.run(t.Context(), append(strings.Fields(command), "--help")...))
			golden.Equal(t, "help/carillon_"+strings.ReplaceAll(command, " ", "_")+".txt", p.stdout.String())
		})
	}
}

func TestShowUsage(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"schedule history a b":                  "unexpected argument \"b\"\nhint: usage: carillon schedule history [ID] [flags]",
		"schedule history --newest 1001":        "--newest: 1001 is out of range: use 1 to 1000",
		"schedule history --limit -1":           "--limit: -1 is less than 0",
		"schedule history --limit 1 --newest 1": "--newest and --limit do not go together: give one of them",
		"schedule history --from today":         "--from: \"today\" is not a time: write 2030-01-31T09:00:00Z, 2030-01-31T09:00:00+01:00, or +10m or -1h from now",
		"schedule history -o xml":               "--output: \"xml\" is not one of table, wide, json, yaml, jsonl\nhint: carillon schedule history --help lists the flags",
		"schedule watch a b":                    "unexpected argument \"b\"\nhint: usage: carillon schedule watch [ID] [flags]",
		"schedule next":                         "ID is missing\nhint: usage: carillon schedule next ID [flags]",
		"schedule next a --count 0":             "--count: 0 is out of range: use 1 to 1000",
		"schedule count a":                      "unexpected argument \"a\"\nhint: usage: carillon schedule count [flags]",
		"run list --limit -1":                   "--limit: -1 is out of range: use 1 to 1000",
		"run describe a":                        "RUN is missing\nhint: usage: carillon run describe ID RUN [flags]",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitUsage, p.run(t.Context(), strings.Fields(command)...))
			assert.Equal(t, "error: "+want+"\n", p.stderr.String())
			assert.Empty(t, p.stdout.String())
		})
	}
	var p process
	assert.Equal(t, ExitUsage, p.run(t.Context(), "schedule", "history", "--kind", "skiped"))
	assert.Contains(t, p.stderr.String(), "--kind: \"skiped\" is not a kind of event; did you mean \"skipped\"?; use one of created, ")
}

// runs runs a command of the group "run".
func (c cli) runs(args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats}}
	code = p.run(c.t.Context(), append([]string{"run"}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

// events decodes lines of JSON.
func events(t *testing.T, text string) []schedule.Event {
	t.Helper()
	var all []schedule.Event
	for line := range strings.Lines(text) {
		var event schedule.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
		all = append(all, event)
	}
	return all
}

// TestShow prints three runs with every command that shows runs: one completes, one fails, and no worker takes the third.
func TestShow(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	all := startDaemon(t, "schedule", "watch", "--nats", url, "-o", "json")
	one := startDaemon(t, "schedule", "watch", "good", "--nats", url)
	one.output(t, `^(TIME \(UTC\) +WHAT +NOMINAL +LATE)\n`)
	natstest.Eventually(t, patience, "all events are watched", func() bool {
		c.ok("create", "probe", "--type", "noop")
		c.ok("delete", "probe")
		return strings.Contains(all.stdout.String(), "probe")
	})

	c.ok("create", "good", "--type", "noop", "--input", `{"rows":3}`, "--time-zone", "Europe/Berlin", "--notes", "by hand")
	c.ok("create", "bad", "--type", "sleep", "--input", `"soon"`)
	c.ok("create", "unserved", "--type", "noop", "--task-queue", "nobodys")
	for _, id := range []string{"good", "bad", "unserved"} {
		c.ok("trigger", id, "--note", "to see it")
	}
	assert.Contains(t, one.output(t, `(\S+ +completed .*)\n`), `result {"rows":3}`)
	c.until("bad", "it has failed", func(d schedule.Description) bool {
		return len(d.Info.RecentActions) == 1 && d.Info.RecentActions[0].Status == schedule.StatusFailed
	})
	c.testDescribe()
	c.testHistory()
	c.testRuns()
	c.testNext()

	assert.Equal(t, "3\n", c.ok("count"))
	assert.Equal(t, "1\n", c.ok("count", "--id-prefix", "g"))
	assert.Equal(t, "{\n  \"count\": 3\n}\n", c.ok("count", "-o", "json"))

	one.stopped(t)
	all.stopped(t)
	assert.Empty(t, one.stderr.String()+all.stderr.String())
	assert.NotContains(t, one.stdout.String(), "probe")
	watched := events(t, all.stdout.String())
	assert.GreaterOrEqual(t, len(watched), len(events(t, c.ok("history", "good", "-o", "json"))))
	server.stopped(t)
}

func (c cli) testDescribe() {
	c.t.Helper()
	bad := c.ok("describe", "bad")
	assert.Contains(c.t, bad, "What holds it up\n  the spec has no times")
	assert.Regexp(c.t, ` manual  failed +\S+ m?s +\S+ m?s +bad-\S+ +sleep needs an input`, bad)
	unserved := describedUntil(c, "it is known that no worker serves the queue", "unserved", `task queue "nobodys" has no worker`)
	assert.Regexp(c.t, `Running \(UTC\)\n.*\n.* manual +\S+.* nobodys +unserved-`, unserved)
	assert.Contains(c.t, c.ok("describe", "good"), "Ended (Europe/Berlin)")
}

// describedUntil describes a schedule for people until the text contains a part.
func describedUntil(c cli, what, id, part string) (text string) {
	c.t.Helper()
	natstest.Eventually(c.t, patience, what, func() bool {
		text = c.ok("describe", id)
		return strings.Contains(text, part)
	})
	return text
}

func (c cli) testHistory() {
	c.t.Helper()
	history := c.ok("history", "good")
	assert.Regexp(c.t, `^TIME \(UTC\) +WHAT +NOMINAL +LATE\n\S+ \S+ +created +- .*\n`, history)
	assert.Regexp(c.t, `\d  triggered +- +to see it, as \S+, by \S+@\S+\n`, history)
	assert.Regexp(c.t, `(?s)triggered .*started .*completed `, history, "the oldest first")

	found := events(c.t, c.ok("history", "good", "-o", "json"))
	last := found[len(found)-1]
	assert.Equal(c.t, schedule.EventCompleted, last.Kind)
	assert.Equal(c.t, []schedule.Event{last}, events(c.t, c.ok("history", "good", "--newest", "1", "-o", "json")))
	assert.Equal(c.t, found[:2], events(c.t, c.ok("history", "good", "--limit", "2", "-o", "json")))
	assert.Equal(c.t, found[1:], events(c.t, c.ok("history", "good", "-o", "json",
		"--from", found[1].Time.Format("2006-01-02T15:04:05.999999999Z07:00"))))
	assert.Contains(c.t, c.ok("history", "good", "-o", "wide"), "request="+last.RequestID)

	assert.Regexp(c.t, `SCHEDULE .*(\n.* (created|completed|failed) .*)+\n$`, c.ok("history", "--kind", "created", "--kind", "completed"))
	assert.Contains(c.t, c.ok("history", "probe"), "deleted", "the history outlives the schedule")
	assert.Equal(c.t, "no events\n", c.ok("history", "nobodys"))
	assert.Empty(c.t, c.ok("history", "nobodys", "-o", "json"))
}

func (c cli) testRuns() {
	c.t.Helper()
	code, stdout, stderr := c.runs("list", "good", "-o", "json")
	require.Equal(c.t, ExitOK, code, stderr)
	var runs []schedule.Run
	require.NoError(c.t, json.Unmarshal([]byte(stdout), &runs))
	require.Len(c.t, runs, 1)

	_, stdout, _ = c.runs("list")
	assert.Contains(c.t, stdout, "SCHEDULE  NOMINAL (UTC)")
	assert.Equal(c.t, 4, strings.Count(stdout, "\n"))
	_, stdout, _ = c.runs("list", "--status", "running")
	assert.Regexp(c.t, `\nunserved .* running .*\n$`, stdout)
	_, stdout, _ = c.runs("list", "good", "--status", "failed")
	assert.Equal(c.t, "no runs\n", stdout)

	for _, name := range []string{runs[0].RunID, runs[0].WorkflowID, runs[0].RequestID} {
		code, stdout, stderr = c.runs("describe", "good", name)
		require.Equal(c.t, ExitOK, code, stderr)
		assert.Contains(c.t, stdout, "Run         "+runs[0].RunID+"\n")
		assert.Contains(c.t, stdout, "\nResult\n  {\n    \"rows\": 3\n  }\n\nWhat happened\n  TIME (C", "in the zone of the schedule")
	}
	code, _, stderr = c.runs("describe", "good", "other")
	assert.Equal(c.t, ExitNotFound, code)
	assert.Contains(c.t, stderr, "hint: carillon run list good shows the newest runs\n")
}

func (c cli) testNext() {
	c.t.Helper()
	assert.Equal(c.t, "no times\n", c.ok("next", "good"))
	c.ok("update", "good", "--at", "2090-06-01T10:00:00Z", "--at", "2091-01-01T10:00:00Z", "--jitter", "1s")
	c.ok("skip", "good", "--at", "2090-06-01T10:00:00Z")
	next := c.ok("next", "good")
	assert.Regexp(c.t, `^Europe/Berlin +DUE WITH JITTER\nThu 2090-06-01 12:00:00 CEST .* to be skipped\nMon 2091-01-01 11:00:00 CET .*d\n$`, next)

	times := func(args ...string) (reply schedule.TimesReply) {
		require.NoError(c.t, json.Unmarshal([]byte(c.ok(append([]string{"next", "good", "-o", "json"}, args...)...)), &reply))
		return reply
	}
	assert.Len(c.t, times().Times, 2)
	first := times("--count", "1")
	assert.Len(c.t, first.Times, 1)
	assert.True(c.t, first.More)
	assert.Empty(c.t, times("--from", "-24h", "--to", "+24h").Times)
	assert.NotContains(c.t, c.ok("next", "good", "--count", "1"), "more times follow")
	assert.Regexp(c.t, `\nmore times follow in this range\n$`, c.ok("next", "good", "--to", "2092-01-01T00:00:00Z", "--count", "1"))
	assert.Len(c.t, times("--to", "2090-12-31T00:00:00Z").Times, 1)
	c.fails(ExitNotFound, "hint: carillon schedule list", "next", "nobodys")
}
