package cli

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/schedule"
)

// noon is the clock of the tests that read command lines.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 600, time.UTC)

func TestTimeParser(t *testing.T) {
	t.Parallel()
	at := timeParser(func() time.Time { return noon })
	for text, want := range map[string]string{
		"+10m":                      "2026-01-02T12:10:01Z", // rounded up: never earlier than requested
		"-24h":                      "2026-01-01T12:00:00Z",
		"2030-01-31T10:00:00+01:00": "2030-01-31T09:00:00Z",
	} {
		got, err := at(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.Format(time.RFC3339Nano), text)
	}
	for _, text := range []string{"", "now", "-", "+", "-1", "2030-01-31"} {
		_, err := at(text)
		assert.Error(t, err, text)
	}
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	parse := parseRange(timeParser(func() time.Time { return noon }))
	got, err := parse("2026-01-01T00:00:00Z/-1h")
	require.NoError(t, err)
	assert.Equal(t, schedule.BackfillRange{
		Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 1, 2, 11, 0, 0, 0, time.UTC),
	}, got)
	for text, want := range map[string]string{
		"-1h":     `"-1h" is not a range of time: write 2030-01-01T00:00:00Z/2030-01-31T23:59:59Z`,
		"-1h/-2h": `"-1h/-2h" ends before it begins`,
		"-1h/x":   `"x" is not a time: `,
		"/-1h":    `"" is not a time: `,
	} {
		_, err := parse(text)
		assert.ErrorContains(t, err, want)
	}
}

func TestCountSkips(t *testing.T) {
	t.Parallel()
	times := []time.Time{noon}
	for name, test := range map[string]struct {
		times []time.Time
		args  []string
		want  int
		err   string
	}{
		"the next one":  {want: 1},
		"several":       {args: []string{"3"}, want: 3},
		"times":         {times: times},
		"none":          {args: []string{"0"}, err: `"0" is not a number of times: use 1 to 1000`},
		"too many":      {args: []string{"1001"}, err: `"1001" is not a number of times: use 1 to 1000`},
		"not a number":  {args: []string{"x"}, err: `"x" is not a number of times: use 1 to 1000`},
		"less than one": {args: []string{"-1"}, err: `"-1" is not a number of times: use 1 to 1000`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skip := schedule.Skip{Times: test.times}
			err := countSkips(&skip, test.args)
			if test.err != "" {
				assert.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, schedule.Skip{Times: test.times, Count: test.want}, skip)
		})
	}
}

func TestTriggerFlags(t *testing.T) {
	t.Parallel()
	p := &process{files: map[string]string{"input.json": `{"a":1}`}}
	var flags triggerFlags
	cmd := &cobra.Command{Use: "trigger"}
	flags.define(cmd, p.Env())
	require.NoError(t, cmd.ParseFlags([]string{
		"--note", "why", "--overlap", "allow_all", "--input-file", "input.json",
		"--header", "a=b=c", "--header", "empty=", "--memo", `m={"x":1}`,
	}))
	require.NoError(t, flags.apply())
	got, err := apitext.EncodeJSON(flags.request)
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"","overlap":"allow_all","note":"why","input":{"a":1},"headers":{"a":"b=c","empty":""},"memo":{"m":{"x":1}}}`, string(got))
}

func TestPatchFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args        []string
		want, words string
		err         string
	}{
		"pause":   {args: []string{"--pause", "--note", "n"}, want: `{"id":"x","pause":{"note":"n"}}`, words: "paused"},
		"unpause": {args: []string{"--unpause"}, want: `{"id":"x","unpause":{}}`, words: "unpaused"},
		"trigger": {
			args:  []string{"--trigger", "--overlap", "allow_all", "--note", "n"},
			want:  `{"id":"x","trigger":{"overlap":"allow_all","note":"n"}}`,
			words: "triggered",
		},
		"backfills": {
			args: []string{"--backfill", "-3h/-2h", "--backfill", "-1h/-1h", "--overlap", "buffer_all", "--note", "n"},
			want: `{"id":"x","backfills":[
				{"start":"2026-01-02T09:00:00Z","end":"2026-01-02T10:00:00Z","overlap":"buffer_all","note":"n"},
				{"start":"2026-01-02T11:00:00Z","end":"2026-01-02T11:00:00Z","overlap":"buffer_all","note":"n"}]}`,
			words: "2 backfills",
		},
		"skips": {
			args:  []string{"--skip", "2", "--unskip"},
			want:  `{"id":"x","skip":{"count":2},"unskip":{}}`,
			words: "took back all skips, skips 2 times",
		},
		"times": {
			args:  []string{"--skip-at", "2026-01-03T00:00:00Z", "--unskip-at", "2026-01-04T00:00:00Z"},
			want:  `{"id":"x","skip":{"times":["2026-01-03T00:00:00Z"]},"unskip":{"times":["2026-01-04T00:00:00Z"]}}`,
			words: "took back 1 skip, skips 1 time",
		},
		"nothing":        {args: []string{"--note", "n"}, err: "nothing to do: use --pause, "},
		"both":           {args: []string{"--pause", "--unpause"}, err: "--pause and --unpause do not go together: give one of them"},
		"skips twice":    {args: []string{"--skip", "1", "--skip-at", "+1h"}, err: "--skip and --skip-at do not go together: give one of them"},
		"unskips twice":  {args: []string{"--unskip", "--unskip-at", "+1h"}, err: "--unskip and --unskip-at do not go together: give one of them"},
		"stray overlap":  {args: []string{"--pause", "--overlap", "skip"}, err: "--overlap needs --trigger or --backfill"},
		"bad range":      {args: []string{"--backfill", "x"}, err: `--backfill: "x" is not a range of time`},
		"bad time":       {args: []string{"--skip-at", "x"}, err: `--skip-at: "x" is not a time`},
		"no true switch": {args: []string{"--trigger=false"}, err: "nothing to do: use --pause, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flags patchFlags
			cmd := &cobra.Command{Use: "patch"}
			flags.define(cmd, (&process{now: noon}).Env())
			require.NoError(t, cmd.ParseFlags(test.args))
			request, err := flags.build("x")
			if test.err != "" {
				assert.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, request.Validate())
			got, err := apitext.EncodeJSON(request)
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(got))
			assert.Equal(t, test.words, strings.Join(patchWords(request), ", "))
		})
	}
}

// update returns the request that a command line of schedule update builds from a file.
func (p *process) update(t *testing.T, id string, args ...string) (schedule.UpdateRequest, error) {
	t.Helper()
	flags := updateFlags{createFlags{env: p.Env()}}
	cmd := &cobra.Command{Use: "update"}
	flags.define(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	return flags.fromFile(cmd, "default", id)
}

func TestUpdateFile(t *testing.T) {
	t.Parallel()
	p := &process{files: map[string]string{
		"described.json": `{"namespace":"default","id":"a","spec":{"cron":["@daily"]},"action":{"type":"noop"},"policies":{},
			"state":{"notes":"n"},"info":{"actionCount":3,"futureActionTimes":[]},"conflictToken":7}`,
		"other.yaml": "namespace: elsewhere\nid: a\n",
		"bad.yaml":   "infos: {}\n",
	}}
	request, err := p.update(t, "", "--file", "described.json", "--notes", "mine")
	require.NoError(t, err)
	assert.Equal(t, "a", request.ID)
	assert.Equal(t, uint64(7), request.ConflictToken)
	assert.Equal(t, []string{"@daily"}, request.Spec.Cron)
	assert.Equal(t, "mine", request.State.Notes)

	request, err = p.update(t, "b", "--file", "described.json")
	require.NoError(t, err)
	assert.Equal(t, "b", request.ID, "the command line goes before the file")

	_, err = p.update(t, "", "--file", "other.yaml")
	assert.EqualError(t, err, "--file other.yaml: it is about namespace elsewhere: say --namespace elsewhere if that is meant")
	_, err = p.update(t, "", "--file", "bad.yaml")
	assert.ErrorContains(t, err, "--file bad.yaml: infos: unknown field")
}

func TestUpdateOver(t *testing.T) {
	t.Parallel()
	every := func(d time.Duration) []schedule.Interval { return []schedule.Interval{{Every: schedule.Duration(d)}} }
	current := schedule.Schedule{
		Spec:   schedule.Spec{Intervals: every(time.Hour), Cron: []string{"@daily"}, TimeZone: "Europe/Berlin"},
		Action: schedule.Action{Type: "noop", TaskQueue: "q", RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3}},
	}
	flags := updateFlags{createFlags{env: (&process{now: noon}).Env()}}
	cmd := &cobra.Command{Use: "update"}
	flags.define(cmd)
	require.NoError(t, cmd.ParseFlags([]string{"--every", "5s", "--retry-backoff", "3"}))
	for range 2 { // after a conflict, the flags are applied again
		got, err := flags.over(cmd, current)
		require.NoError(t, err)
		assert.Equal(t, schedule.Spec{Intervals: every(5 * time.Second), TimeZone: "Europe/Berlin"}, got.Spec)
		assert.Equal(t, &schedule.RetryPolicy{MaximumAttempts: 3, BackoffCoefficient: 3}, got.Action.RetryPolicy)
		assert.Equal(t, "q", got.Action.TaskQueue)
	}
	assert.Equal(t, every(time.Hour), current.Spec.Intervals, "what was described stays as it is")
	assert.Equal(t, &schedule.RetryPolicy{MaximumAttempts: 3}, current.Action.RetryPolicy)
}

func TestMeter(t *testing.T) {
	t.Parallel()
	at := func(done int) schedule.BackfillProgress {
		return schedule.BackfillProgress{Done: done, Total: 100, HighWaterMark: noon}
	}
	var plain buffer
	m := newMeter(&plain, false)
	m.show(schedule.BackfillProgress{}, time.UTC)
	for _, done := range []int{0, 0, 1, 4, 5, 6, 9, 100} {
		m.show(at(done), time.UTC)
	}
	m.end()
	assert.Equal(t, `0/100
5/100  up to Fri 2026-01-02 12:00:00 UTC
100/100  up to Fri 2026-01-02 12:00:00 UTC
`, plain.String(), "a line for every twentieth")

	var terminal buffer
	m = newMeter(&terminal, true)
	m.show(at(0), time.UTC)
	m.show(at(0), time.UTC)
	m.show(schedule.BackfillProgress{Done: 1, Total: 100, TotalCapped: true, Canceled: true}, time.UTC)
	m.end()
	m.end()
	assert.Equal(t, "\r0/100\x1b[K\r1/100+  being canceled\x1b[K\n", terminal.String())
}

func TestMeterOfTheRestOfABackfill(t *testing.T) {
	t.Parallel()
	var out buffer
	m := newMeter(&out, false)
	m.show(schedule.BackfillProgress{Done: 40, Total: 40, HighWaterMark: noon}, time.UTC)
	for _, running := range []int{3, 3, 2, 1} {
		m.rest(running, 40)
	}
	assert.Equal(t, `40/40  up to Fri 2026-01-02 12:00:00 UTC
all started, 3 runs in progress
all started, 1 run in progress
`, out.String())
}

func TestTellOfATrigger(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	events := func(failure error) iter.Seq2[schedule.Event, error] {
		return func(yield func(schedule.Event, error) bool) {
			_ = yield(schedule.Event{Kind: schedule.EventTriggered}, nil) &&
				yield(schedule.Event{Kind: schedule.EventDeferred, Overlap: schedule.OverlapBufferOne}, nil) &&
				yield(schedule.Event{Kind: schedule.EventStarted, WorkflowID: "w"}, nil) &&
				yield(schedule.Event{Kind: schedule.EventCompleted}, failure)
		}
	}
	var out buffer
	last, err := tell(&out, events(nil))
	require.NoError(t, err)
	assert.Equal(t, schedule.EventCompleted, last.Kind)
	assert.Equal(t, "waits for a run in progress to end (buffer_one)\nstarted w\n", out.String())

	_, err = tell(io.Discard, events(lost))
	assert.ErrorIs(t, err, lost)
}

func TestTriggerOutcome(t *testing.T) {
	t.Parallel()
	completed := func(status schedule.Status, outcome schedule.Outcome) schedule.Event {
		return schedule.Event{Kind: schedule.EventCompleted, Status: status, Outcome: outcome}
	}
	timed := completed(schedule.StatusCompleted, schedule.Outcome{Result: json.RawMessage(`{"a":1}`)})
	timed.CodeTime, timed.CloseTime, timed.Attempt = noon, noon.Add(2*time.Second), 3
	for name, test := range map[string]struct {
		event     schedule.Event
		text, err string
	}{
		"completed": {event: completed(schedule.StatusCompleted, schedule.Outcome{}), text: "completed\n"},
		"result":    {event: timed, text: "completed in 2.00 s, attempt 3: {\"a\":1}\n"},
		"large result": {
			event: completed(schedule.StatusCompleted, schedule.Outcome{ResultBytes: 5000}),
			text:  "completed: a result of 5000 bytes, more than is kept in the history\n",
		},
		"failed": {
			event: completed(schedule.StatusFailed, schedule.Outcome{Failure: &schedule.Failure{Message: "no", Type: "broken"}}),
			err:   "the run has ended as failed: no (broken)",
		},
		"failed without a type": {
			event: completed(schedule.StatusFailed, schedule.Outcome{Failure: &schedule.Failure{Message: "no"}}),
			err:   "the run has ended as failed: no",
		},
		"timed out": {event: completed(schedule.StatusTimedOut, schedule.Outcome{}), err: "the run has ended as timed_out"},
		"deleted": {
			event: schedule.Event{Kind: schedule.EventDeleted},
			err:   "the schedule has been deleted, so it is not known what becomes of the run",
		},
		"canceled": {
			event: schedule.Event{Kind: schedule.EventBackfillCanceled, Identity: "ann"},
			err:   "the trigger was canceled by ann",
		},
		"skipped": {event: schedule.Event{Kind: schedule.EventSkipped, Reason: "overlap policy skip"}, err: "the run was skipped: overlap policy skip"},
		"dropped": {event: schedule.Event{Kind: schedule.EventDropped, Reason: "the buffer is full"}, err: "the run was dropped: the buffer is full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out buffer
			require.NoError(t, printOutcome(&out, &test.event))
			assert.Equal(t, test.text, out.String())
			if err := failureOf(&test.event); test.err == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, test.err)
			}
		})
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	d, err := newDraft(&schedule.Description{Namespace: "n", ID: "x", Schedule: schedule.Schedule{
		Action: schedule.Action{Type: "noop", TaskQueue: "q"},
	}})
	require.NoError(t, err)
	defer d.remove()
	head, body, _ := strings.Cut(d.text, "\n")
	assert.Equal(t, "# Schedule x of namespace n. Save this to change it; leave it as it is to change nothing.", head)
	assert.False(t, isBlank(body))
	next, err := parseDraft(d.text)
	require.NoError(t, err)
	assert.Equal(t, d.original, next)
	info, err := os.Stat(d.path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "a schedule may hold what is nobody else's business")
}

func TestDraftProblem(t *testing.T) {
	t.Parallel()
	once := withProblem("# head\na: 1\n", errors.New("one\ntwo"))
	assert.Equal(t, "# error: one\n# error: two\n# head\na: 1\n", once)
	assert.Equal(t, "# error: three\n# head\na: 1\n", withProblem(once, errors.New("three")))
}

func TestDraftIsBlank(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "\n \n# a\n  # b": true, "a: 1": false, "# a\nb": false} {
		assert.Equal(t, want, isBlank(text), text)
	}
}

func TestEditorOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "vi", editorOf((&process{}).Env()))
	assert.Equal(t, "e", editorOf((&process{env: map[string]string{"EDITOR": "e", "VISUAL": ""}}).Env()))
	assert.Equal(t, "v", editorOf((&process{env: map[string]string{"EDITOR": "e", "VISUAL": "v"}}).Env()))
}

func TestChangeUsage(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"update x":                                    "nothing to change: give a flag, or --file\nhint: carillon schedule edit x opens the schedule in an editor",
		"update":                                      "ID is missing\nhint: usage: carillon schedule update ID [flags]",
		"update x --file none":                        "--file none: open none: file does not exist",
		"update x --trigger":                          "unknown flag \"--trigger\"\nhint: carillon schedule update --help lists the flags",
		"edit":                                        "ID is missing\nhint: usage: carillon schedule edit ID [flags]",
		"backfill x":                                  "--from is missing\nhint: usage: carillon schedule backfill ID --from TIME --to TIME [flags]",
		"backfill x --from -1h":                       "--to is missing\nhint: usage: carillon schedule backfill ID --from TIME --to TIME [flags]",
		"backfill x --from -1h --to -2h":              "--to lies before --from: both are part of the range, from the first to the last time",
		"backfill x --from yesterday --to -1":         `--from: "yesterday" is not a time: write 2030-01-31T09:00:00Z, 2030-01-31T09:00:00+01:00, or +10m or -1h from now`,
		"cancel-backfill x":                           "BACKFILL_ID is missing\nhint: usage: carillon schedule cancel-backfill ID BACKFILL_ID [flags]",
		"skip x 1 2":                                  "unexpected argument \"2\"\nhint: usage: carillon schedule skip ID [N] [flags]",
		"skip x many":                                 `"many" is not a number of times: use 1 to 1000`,
		"trigger x --header a":                        `--header: "a" is not NAME=VALUE`,
		"trigger x --header a=1 --header a=2":         `--header: "a" is given twice`,
		"trigger x --memo a=b":                        `--memo: a: not JSON: text needs quotes within the argument, such as '"text"'`,
		"trigger x --input 1 --input-file f":          "--input and --input-file do not go together: give one of them",
		"create x --type noop --heartbeat-timeout 5s": "action.heartbeatTimeout: 5s is too short: use 10s or more, or 0 for none",
		"create x --type noop --backfill -1h":         `--backfill: "-1h" is not a range of time: write 2030-01-01T00:00:00Z/2030-01-31T23:59:59Z`,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"schedule"}, strings.Fields(command)...)...))
			assert.Equal(t, "error: "+want+"\n", p.stderr.String())
			assert.Empty(t, p.stdout.String())
		})
	}
}

func TestChangeHelp(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"update", "edit", "patch", "backfill", "cancel-backfill", "skip", "unskip"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitOK, p.run(t.Context(), "schedule", verb, "--help"))
			golden.Equal(t, "help/carillon_schedule_"+verb+".txt", p.stdout.String())
		})
	}
}
