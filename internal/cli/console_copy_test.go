package cli

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// copiedSchedules are schedules in YAML. Those of withText have something that no flag says.
var copiedSchedules = map[string]string{
	"plain": "spec: {cron: ['0 9 * * mon-fri'], timeZone: Europe/Berlin}\naction: {type: log, taskQueue: default}\n",
	"all that flags say": `
spec:
  intervals: [{every: 1h, phase: 5m}, {every: 90s}]
  calendars: [{hour: "9", dayOfWeek: mon-fri, comment: it's <noon> & "more"}]
  at: [2099-01-01T00:00:00Z]
  excludeCalendars: [{hour: "10"}]
  excludeDates: [2099-12-24/2099-12-26, 2099-05-01]
  blackouts: [{from: 2099-01-31T22:00:00Z, to: 2099-02-01T02:00:00Z}]
  startTime: 2026-01-01T00:00:00Z
  endTime: 2099-12-31T00:00:00Z
  jitter: 1.5s
  timeZone: Europe/Berlin
  dst: {gap: shift, repeat: first}
action:
  type: log
  taskQueue: the queue
  input: {text: "it's $HOME \\ and \n more", n: 1.50}
  headers: {a: b=c, d: ""}
  memo: {m: [1, null]}
  searchAttributes: {s: x}
  workflowId: base
  runTimeout: 1m
  executionTimeout: 1h
  taskTimeout: 10s
  heartbeatTimeout: 30s
  priority: 2
  retryPolicy: {initialInterval: 2s, backoffCoefficient: 1.5, maximumInterval: 10s, maximumAttempts: 3, nonRetryableErrorTypes: [a b, c]}
policies: {overlap: buffer_one, concurrencyLimit: 2, catchupWindow: 2h, catchupMode: latest, pauseOnFailure: true, lostRuns: wait, keepOriginalWorkflowId: true}
state: {paused: true, notes: "-x\ntwo lines", limitedActions: true, remainingActions: 5}
memo: {team: ops}
searchAttributes: {k: 1}
`,
	"a workflow":      "spec: {intervals: [{every: 1h}]}\naction: {kind: workflow, type: Greet, taskQueue: q, input: [Ann], fairnessKey: k, fairnessWeight: 0.5}\n",
	"-dash":           "spec: {}\naction: {type: log, taskQueue: default}\n",
	"by a file":       "spec: {structuredCalendars: [{hour: [{start: 9, end: 9}]}]}\naction: {type: log, taskQueue: END}\n",
	"a name with '='": "spec: {}\naction: {type: log, taskQueue: default, headers: {'a=b': c}}\n",
	"an empty policy": "spec: {}\naction: {type: log, taskQueue: default, retryPolicy: {}}\n",
}

// words has a shell split a command, as it does for a program. It returns what the program gets as arguments, and on standard input.
func words(t *testing.T, command string) (args []string, stdin string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", `carillon() { printf '%s\0' "$@"; case " $* " in *" --file - "*) cat;; esac; }; `+command)
	out, err := shell.Output()
	require.NoError(t, err, command)
	all := strings.Split(string(out), "\x00")
	return all[:len(all)-1], all[len(all)-1]
}

// TestCopiedCommands: the command that the console shows for a schedule makes the same one.
func TestCopiedCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	server := startDaemonIn(t, map[string]string{"CARILLON_CONSOLE": "127.0.0.1:0"}, "server", "--port", "-1", "--log-level", "warn", "--data", t.TempDir())
	nats, console := server.output(t, `NATS +((?:nats|tls)://\S+)`), server.output(t, `console +(\S+)`)
	run := func(stdin string, args ...string) string {
		p := &process{stdin: stdin}
		require.Equal(t, ExitOK, p.run(t.Context(), append([]string{args[0], args[1], "--nats", nats}, args[2:]...)...), "%q: %s", args, p.stderr.String())
		return p.stdout.String()
	}
	visitor := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	shown := regexp.MustCompile(`(?s)<pre id="command" tabindex="0">(.*?)</pre>`)
	for id, text := range copiedSchedules {
		run(text, "schedule", "create", "--file", "-", "--", id)
		want := run("", "schedule", "export", "--", id)
		response, err := visitor.Get(console + "/ns/default/schedules/" + url.PathEscape(id) + "/copy")
		require.NoError(t, err)
		page, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		found := shown.FindStringSubmatch(string(page))
		require.NotNil(t, found, "%s: %s", id, page)
		run("", "schedule", "delete", "--", id)
		args, stdin := words(t, html.UnescapeString(found[1]))
		if id == "all that flags say" {
			assert.Empty(t, stdin)
		}
		run(stdin, args...)
		assert.Equal(t, want, run("", "schedule", "export", "--", id), "%s: %s", id, args)
	}
	server.stopped(t)
}
