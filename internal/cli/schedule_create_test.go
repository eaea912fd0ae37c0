package cli

import (
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// build returns the request that a command line of schedule create asks for.
func (p *process) build(t *testing.T, args ...string) (schedule.CreateRequest, error) {
	t.Helper()
	flags := createFlags{env: p.Env()}
	cmd := &cobra.Command{Use: "create"}
	flags.define(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	return flags.build(cmd, append(cmd.Flags().Args(), "")[0])
}

func TestCreateFlags(t *testing.T) {
	t.Parallel()
	p := &process{
		now:   time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC),
		files: map[string]string{"input.json": `{"a": 1}`},
		stdin: `["from", "stdin"]`,
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"least":       {[]string{"x", "--type", "noop"}, `{"id":"x","spec":{},"action":{"type":"noop","taskQueue":"default"},"policies":{},"state":{}}`},
		"intervals":   {[]string{"x", "--every", "90s", "--every", "1h/5m"}, `{"id":"x","spec":{"intervals":[{"every":"1m30s"},{"every":"1h","phase":"5m"}]},"action":{"type":"","taskQueue":"default"},"policies":{},"state":{}}`},
		"cron, zone":  {[]string{"x", "--cron", "0 9 * * mon-fri", "--cron", "@daily", "--time-zone", "Europe/Berlin"}, `{"id":"x","spec":{"cron":["0 9 * * mon-fri","@daily"],"timeZone":"Europe/Berlin"},"action":{"type":"","taskQueue":"default"},"policies":{},"state":{}}`},
		"calendars":   {[]string{"x", "--calendar", `{"hour":"9"}`, "--exclude-calendar", `{"month":"dec"}`}, `{"id":"x","spec":{"calendars":[{"hour":"9"}],"excludeCalendars":[{"month":"dec"}]},"action":{"type":"","taskQueue":"default"},"policies":{},"state":{}}`},
		"times":       {[]string{"x", "--at", "2030-01-31T10:00:00+01:00", "--at", "+10m", "--start", "2029-01-01T00:00:00Z", "--end", "+1h", "--jitter", "30s"}, `{"id":"x","spec":{"at":["2030-01-31T09:00:00Z","2026-01-02T03:14:06Z"],"startTime":"2029-01-01T00:00:00Z","endTime":"2026-01-02T04:04:06Z","jitter":"30s"},"action":{"type":"","taskQueue":"default"},"policies":{},"state":{}}`},
		"action":      {[]string{"x", "--type", "t", "--task-queue", "q", "--input", `"text"`, "--workflow-id", "w", "--run-timeout", "1m", "--task-timeout", "10s"}, `{"id":"x","spec":{},"action":{"type":"t","workflowId":"w","taskQueue":"q","input":"text","runTimeout":"1m","taskTimeout":"10s"},"policies":{},"state":{}}`},
		"a workflow":  {[]string{"x", "--workflow", "W", "--task-queue", "q", "--input", `["a", null]`, "--header", "h=t"}, `{"id":"x","spec":{},"action":{"kind":"workflow","type":"W","taskQueue":"q","input":["a",null],"headers":{"h":"t"}},"policies":{},"state":{}}`},
		"input file":  {[]string{"x", "--input", "@input.json"}, `{"id":"x","spec":{},"action":{"type":"","taskQueue":"default","input":{"a":1}},"policies":{},"state":{}}`},
		"input stdin": {[]string{"x", "--input", "@-"}, `{"id":"x","spec":{},"action":{"type":"","taskQueue":"default","input":["from","stdin"]},"policies":{},"state":{}}`},
		"retries":     {[]string{"x", "--retry-max-attempts", "3", "--retry-backoff", "1.5", "--retry-initial-interval", "2s", "--retry-max-interval", "1m"}, `{"id":"x","spec":{},"action":{"type":"","taskQueue":"default","retryPolicy":{"initialInterval":"2s","backoffCoefficient":1.5,"maximumInterval":"1m","maximumAttempts":3}},"policies":{},"state":{}}`},
		"policies":    {[]string{"x", "--overlap", "buffer_all", "--concurrency-limit", "2", "--catchup-window", "5m", "--pause-on-failure", "--keep-original-workflow-id"}, `{"id":"x","spec":{},"action":{"type":"","taskQueue":"default"},"policies":{"overlap":"buffer_all","concurrencyLimit":2,"catchupWindow":"5m","pauseOnFailure":true,"keepOriginalWorkflowId":true},"state":{}}`},
		"state":       {[]string{"x", "--paused", "--notes", "why", "--remaining-actions", "3", "--trigger"}, `{"id":"x","spec":{},"action":{"type":"","taskQueue":"default"},"policies":{},"state":{"notes":"why","paused":true,"limitedActions":true,"remainingActions":3},"triggerNow":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := p.build(t, test.args...)
			require.NoError(t, err)
			got, err := apitext.EncodeJSON(request)
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
		})
	}
}

const fileOfASchedule = `
id: from-file
spec: {intervals: [{every: 1h}], timeZone: Asia/Tokyo}
action: {type: report, taskQueue: reports, retryPolicy: {maximumAttempts: 5, initialInterval: 3s}}
state: {paused: true}
`

func TestCreateFromAFile(t *testing.T) {
	t.Parallel()
	p := &process{files: map[string]string{"s.yaml": fileOfASchedule}}
	request, err := p.build(t, "--file", "s.yaml")
	require.NoError(t, err)
	assert.Equal(t, "from-file", request.ID)
	assert.Equal(t, "reports", request.Action.TaskQueue)
	assert.True(t, request.State.Paused)
}

func TestFlagsReplaceTheFile(t *testing.T) {
	t.Parallel()
	p := &process{stdin: fileOfASchedule}
	request, err := p.build(t, "mine", "--file", "-", "--every", "5s", "--paused=false", "--retry-max-attempts", "2")
	require.NoError(t, err)
	assert.Equal(t, "mine", request.ID)
	assert.Equal(t, []schedule.Interval{{Every: schedule.Duration(5 * time.Second)}}, request.Spec.Intervals)
	assert.Equal(t, "Asia/Tokyo", request.Spec.TimeZone, "what no flag names stays")
	assert.False(t, request.State.Paused)
	assert.Equal(t, &schedule.RetryPolicy{MaximumAttempts: 2, InitialInterval: schedule.Duration(3 * time.Second)}, request.Action.RetryPolicy)

	p.stdin = "id: mine\naction: {kind: workflow, type: W}\n"
	request, err = p.build(t, "--file", "-", "--type", "noop")
	require.NoError(t, err)
	assert.Equal(t, schedule.Action{Type: "noop", TaskQueue: "default"}, request.Action, "the flag says of what kind it is")
}

func TestCreateErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"x", "--every", "5"}, `--every: "5" is not a duration: write a number with a unit, such as 90s, 1h30m or 250ms`},
		{[]string{"x", "--every", "5s/1"}, `--every: "1" is not a duration: write a number with a unit, such as 90s, 1h30m or 250ms`},
		{[]string{"x", "--at", "tomorrow"}, `--at: "tomorrow" is not a time: write 2030-01-31T09:00:00Z, 2030-01-31T09:00:00+01:00, or +10m or -1h from now`},
		{[]string{"x", "--calendar", `{"hours": "9"}`}, `--calendar: hours: `},
		{[]string{"x", "--input", "text"}, `--input: not JSON: text needs quotes within the argument, such as '"text"'`},
		{[]string{"x", "--input", "@none"}, `--input: open none: file does not exist`},
		{[]string{"--file", "none"}, `--file none: open none: file does not exist`},
		{[]string{"--file", "bad.yaml"}, `--file bad.yaml: action.tpe: `},
		{[]string{"x", "--overlap", "sometimes"}, `--overlap: "sometimes" is not one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all`},
		{[]string{"x", "--every", "100ms", "--type", "noop"}, `spec.intervals[0].every: `},
		{[]string{"x", "--cron", "* * *", "--type", "noop"}, `spec.cron[0]: `},
		{[]string{"x", "--every", "5s"}, `action.type: `},
		{[]string{"x", "--workflow", "W", "--input", "{}"}, `action.input: is not a list: a workflow takes a list of arguments, such as [1, "two"]`},
	} {
		p := &process{files: map[string]string{"bad.yaml": "action: {tpe: x}"}}
		assert.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"schedule", "create"}, test.args...)...), test.args)
		assert.Contains(t, p.stderr.String(), "error: "+test.want)
		assert.Empty(t, p.stdout.String())
	}
}

// TestDemoSchedulesAreValid reads the demo schedules as "schedule create --file" would.
func TestDemoSchedulesAreValid(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../examples/demo.yaml")
	require.NoError(t, err)
	requests, err := apitext.DecodeYAMLDocuments[schedule.CreateRequest](data)
	require.NoError(t, err)
	require.Len(t, requests, 3)
	for _, request := range requests {
		assert.NoError(t, request.Validate(), request.ID)
	}
}
