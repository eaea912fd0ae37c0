package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestBulkUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"delete":                                       "say which schedules are meant",
		"pause a --all":                                "do not go together: give one of them",
		"pause --all --id-prefix x":                    "do not go together: give one of them",
		"pause --all --rate 0":                         "--rate: 0 is out of range",
		"pause --all --rate 10001":                     "10001 is out of range",
		"trigger --all --overlap maybe":                "--overlap",
		"set-label --all":                              "use one of --label NAME=TEXT and --remove-label NAME",
		"set-label --all --label a=b --remove-label c": "--label and --remove-label do not go together",
		"set-label --all --label a":                    `"a" is not NAME=TEXT`,
		"watch":                                        "JOB is missing",
		"erase":                                        `unknown command "erase"`,
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"bulk"}, strings.Fields(args)...)...), args)
		assert.Contains(t, p.stderr.String(), want, args)
	}
}

func TestBulkHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"bulk", "bulk pause", "bulk trigger", "bulk set-label", "bulk watch"} {
		var p process
		assert.Equal(t, ExitOK, p.run(t.Context(), append(strings.Fields(command), "--help")...))
		golden.Equal(t, "help/carillon_"+strings.ReplaceAll(command, " ", "_")+".txt", p.stdout.String())
	}
}

// bulk runs a command about bulk operations.
func (c cli) bulk(wantCode int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	p := process{env: map[string]string{"CARILLON_NATS": c.nats, "CARILLON_IDENTITY": "anna"}}
	code := p.run(c.t.Context(), append([]string{"bulk"}, args...)...)
	require.Equal(c.t, wantCode, code, "%v: %s", args, p.stderr.String())
	return p.stdout.String(), p.stderr.String()
}

func TestBulkEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	for i := range 4 {
		c.ok("create", fmt.Sprintf("a-%d", i), "--every", "1h", "--type", "noop")
	}
	_, stderr := c.bulk(ExitUsage, "pause", "--id-prefix", "a-")
	assert.Contains(t, stderr, "there is nobody to ask whether to pause 4 schedules")
	stdout, _ := c.bulk(ExitOK, "delete", "--all", "--dry-run")
	assert.Equal(t, "would delete 4 schedules:\n  a-0\n  a-1\n  a-2\n  a-3\n", stdout)
	stdout, _ = c.bulk(ExitOK, "delete", "--id-prefix", "b-", "--yes")
	assert.Equal(t, "no schedule is selected: nothing to do\n", stdout)
	stdout, _ = c.bulk(ExitOK, "list")
	assert.Equal(t, "no bulk operations\n", stdout)

	stdout, _ = c.bulk(ExitOK, "pause", "--id-prefix", "a-", "--yes", "--wait", "--note", "maintenance")
	assert.Contains(t, stdout, "4/4  4 done\n")
	assert.Contains(t, stdout, "done: 4 done\n")
	assert.Equal(t, "maintenance", c.describe("a-3").State.Notes)
	assert.Equal(t, "anna", c.describe("a-3").Info.PausedBy)

	stdout, stderr = c.bulk(ExitFailure, "set-label", "a-1", "none", "--label", "team=red", "--yes", "--wait")
	assert.Contains(t, stdout, "failed none: there is no such schedule\n")
	assert.Contains(t, stderr, "1 schedule failed")
	assert.JSONEq(t, `"red"`, string(c.describe("a-1").Action.Memo["team"]))
	testBulkReports(t, c)

	red := "paused = true and memo.team = 'red'"
	c.finds("a-1\n", red)
	stdout, _ = c.bulk(ExitOK, "unpause", "--query", red, "--yes", "--wait", "-o", "json")
	assert.Equal(t, 1, document[schedule.BulkDescription](t, stdout).Done)
	assert.False(t, c.describe("a-1").State.Paused)
	assert.True(t, c.describe("a-2").State.Paused)
	testBulkCancel(t, c)
	server.stopped(t)
}

// testBulkReports reads the reports about the newest operation, which failed for one schedule.
func testBulkReports(t *testing.T, c cli) {
	stdout, _ := c.bulk(ExitOK, "list", "-q")
	id := strings.Fields(stdout)[0]
	stdout, _ = c.bulk(ExitOK, "list")
	assert.Regexp(t, id+` +setLabel +named ones +done +2/2 +anna`, stdout)
	stdout, _ = c.bulk(ExitOK, "describe", id)
	for _, line := range []string{`Label +team=red`, `Schedules +a-1 none`, `Status +done`, `none +there is no such schedule`} {
		assert.Regexp(t, line, stdout)
	}
	stdout, _ = c.bulk(ExitFailure, "watch", id)
	assert.Regexp(t, `updated +a-1 .*label team set to "red"`, stdout)
	assert.Regexp(t, `bulk failed +none .*there is no such schedule`, stdout)
	assert.Contains(t, stdout, "done: 1 done, 1 failed\n")
	stdout, _ = c.bulk(ExitFailure, "watch", id, "-o", "jsonl")
	assert.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 2)
	_, stderr := c.bulk(ExitConflict, "cancel", id)
	assert.Contains(t, stderr, "is over: it is done")
	_, stderr = c.bulk(ExitNotFound, "describe", "none")
	assert.Contains(t, stderr, `has no bulk operation "none"`)
}

func testBulkCancel(t *testing.T, c cli) {
	stdout, _ := c.bulk(ExitOK, "trigger", "--all", "--rate", "1", "--yes", "-o", "json")
	id := document[schedule.StartBulkReply](t, stdout).JobID
	natstest.Eventually(t, patience, "it has begun", func() bool {
		stdout, _ := c.bulk(ExitOK, "describe", id, "-o", "json")
		return document[schedule.BulkDescription](t, stdout).Done > 0
	})
	stdout, _ = c.bulk(ExitOK, "cancel", id)
	assert.Regexp(t, `^canceled `+id+`: \d done\n$`, stdout)
	stdout, stderr := c.bulk(ExitFailure, "watch", id)
	assert.Contains(t, stdout, "canceled: ")
	assert.Contains(t, stderr, "the bulk operation was canceled by anna after ")
}
