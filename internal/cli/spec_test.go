package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
)

var specNow = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

const specFile = `
id: nightly
spec:
  cron: ["30 2 * * *"]
  timeZone: Europe/Berlin
  jitter: 1h
action: {type: report, taskQueue: reports}
`

// TestSpecOutput compares the output of whole commands with golden files, including their help.
func TestSpecOutput(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"help/carillon_spec":          {"--help"},
		"help/carillon_spec_next":     {"next", "--help"},
		"help/carillon_spec_calendar": {"calendar", "--help"},
		"spec/next":                   {"next", "--cron", "0 9 * * mon-fri", "--time-zone", "Europe/Berlin", "--count", "3"},
		"spec/next_file":              {"next", "--file", "nightly.yaml", "--after", "2026-03-27T12:00:00Z", "--count", "3"},
		"spec/next_exhausted":         {"next", "--at", "2026-03-11T00:00:00Z", "--at", "2020-01-01T00:00:00Z"},
		"spec/next_never":             {"next", "--cron", "0 0 30 2 *"},
		"spec/next_json":              {"next", "--file", "nightly.yaml", "--until", "+36h", "-o", "json"},
		"spec/next_yaml":              {"next", "--every", "1h", "--count", "1", "-o", "yaml"},
		"spec/calendar":               {"calendar", "--cron", "0 9 * * mon-fri", "--time-zone", "Europe/Berlin"},
		"spec/calendar_sunday":        {"calendar", "--cron", "*/15 * * * *", "--time-zone", "Europe/Berlin", "--month", "2026-10", "--months", "2", "--week-start", "sunday", "--width", "120"},
		"spec/calendar_year":          {"calendar", "--calendar", `{"dayOfMonth": "L"}`, "--year", "2027", "--width", "110"},
		"spec/calendar_seconds":       {"calendar", "--every", "1s", "--months", "1"},
		"spec/calendar_empty":         {"calendar", "--cron", "0 0 30 2 *"},
		"spec/calendar_apia":          {"calendar", "--cron", "0 12 * * *", "--time-zone", "Pacific/Apia", "--month", "2011-12"},
		"spec/calendar_json":          {"calendar", "--cron", "0 12 * * fri", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{now: specNow, files: map[string]string{"nightly.yaml": specFile}}
			require.Equal(t, ExitOK, p.run(t.Context(), append([]string{"spec"}, args...)...), p.stderr.String())
			golden.Equal(t, name+".txt", p.stdout.String())
		})
	}
}

func TestSpecErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"next", "--cron", "0 25 * * *"}, `spec.cron[0]: hour "25" is out of range`},
		{[]string{"next", "--every", "5"}, `--every: "5" is not a duration`},
		{[]string{"next", "--count", "0"}, `--count: 0 is out of range: use 1 to 100000`},
		{[]string{"next", "--file", "bad.yaml"}, `--file bad.yaml: spec.corn: `},
		{[]string{"next", "--file", "spec.yaml"}, `--file spec.yaml: cronn: `},
		{[]string{"next", "--file", "none"}, `--file none: open none: file does not exist`},
		{[]string{"next", "--cases", "none"}, `--cases none: open none: file does not exist`},
		{[]string{"calendar", "--month", "March"}, `--month: "March" is not accepted: write one such as 2026-03, from 1970 to 2100`},
		{[]string{"calendar", "--month", "2026-03", "--year", "2026"}, `--month and --year do not go together: give one of them`},
		{[]string{"calendar", "--months", "0"}, `--months: 0 is out of range: use 1 to 120`},
		{[]string{"calendar", "--time-zone", "Mars/Olympus"}, `spec.timeZone: "Mars/Olympus" is not a known time zone`},
	} {
		p := process{files: map[string]string{"bad.yaml": "spec: {corn: [x]}", "spec.yaml": "cronn: [x]"}}
		assert.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"spec"}, test.args...)...), test.args)
		assert.Contains(t, p.stderr.String(), "error: "+test.want)
		assert.Empty(t, p.stdout.String())
	}
}

// TestSpecFromAFile reads a spec in every form that a file may have.
func TestSpecFromAFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		specFile, `{"cron": ["30 2 * * *"], "timeZone": "Europe/Berlin", "jitter": "1h"}`,
		specFile + "info: {actionCount: 3}\n", // what schedule describe prints
	} {
		p := process{now: specNow, stdin: text}
		require.Equal(t, ExitOK, p.run(t.Context(), "spec", "next", "--file", "-", "--jitter", "0s"), p.stderr.String())
		assert.True(t, strings.HasPrefix(p.stdout.String(), "at 02:30 every day, Europe/Berlin\n"), p.stdout.String())
	}
}

func TestSpecCalendarFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []string{"20", "80", "200"} {
		p := process{now: specNow, env: map[string]string{"COLUMNS": columns}}
		require.Equal(t, ExitOK, p.run(t.Context(), "spec", "calendar", "--cron", "0 9 * * *", "--year", "2026"))
		widest := 0
		for _, line := range strings.Split(p.stdout.String(), "\n") {
			widest = max(widest, len([]rune(line)))
		}
		assert.Equal(t, map[string]int{"20": 34, "80": 71, "200": 182}[columns], widest, columns)
	}
}

func TestSpecCalendarInColour(t *testing.T) {
	t.Parallel()
	args := []string{"spec", "calendar", "--cron", "0 9 * * mon"}
	var plain, coloured process
	plain.now, coloured.now = specNow, specNow
	require.Equal(t, ExitOK, plain.run(t.Context(), args...))
	env := coloured.Env()
	env.Color = true
	require.Equal(t, ExitOK, Main(t.Context(), env, args))
	assert.Contains(t, coloured.stdout.String(), "\x1b[32m 9×1\x1b[0m")
	stripped := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[32m", "").Replace(coloured.stdout.String())
	assert.Equal(t, plain.stdout.String(), stripped, "colours change nothing but colours")
}

func TestSpecCases(t *testing.T) {
	t.Parallel()
	p := process{stdin: `{"id": "a", "spec": {"cron": ["0 0 1 1 * 2030"]}, "after": "2026-01-01T00:00:00Z", "why": "any"}
no case
{"id": "b", "spec": {"cron": ["61 * * * *"]}}
{"id": "c", "spec": {"crons": []}}
{"id": "d", "spec": {"intervals": [{"every": "1d"}], "jitter": "1h"}, "jitterSeed": "s", "after": "2026-01-01T00:00:00.9Z"}`}
	require.Equal(t, ExitOK, p.run(t.Context(), "spec", "next", "--cases", "-"), p.stderr.String())
	lines := strings.Split(p.stdout.String(), "\n")
	require.Len(t, lines, 6)
	assert.Equal(t, `{"id":"a","next":[{"nominal":"2030-01-01T00:00:00Z","actual":"2030-01-01T00:00:00Z"}]}`, lines[0])
	assert.Contains(t, lines[1], `{"id":"","error":"line 2: `)
	assert.Equal(t, `{"id":"b","error":"spec.cron[0]: minute \"61\" is out of range: use 0 to 59"}`, lines[2])
	assert.Contains(t, lines[3], `{"id":"c","error":"spec.crons: `)
	assert.Contains(t, lines[4], `{"id":"d","next":[{"nominal":"2026-01-02T00:00:00Z","actual":"2026-01-02T00:`)
	assert.Equal(t, 12, strings.Count(lines[4], "nominal"))
	assert.Empty(t, lines[5])
}

// expected is what a vector says about its answer.
type expected struct {
	ID         string      `json:"id"`
	Next       []caseTime  `json:"next"`
	Exhausted  bool        `json:"exhausted"`
	Error      bool        `json:"error"`
	Quirk      bool        `json:"quirk"`
	BruteForce []time.Time `json:"bruteForce"`
}

// TestSpecCasesOfTheVectors runs every file of vectors through the command.
func TestSpecCasesOfTheVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(repository, "specproc/testdata/vectors/*.jsonl"))
	require.NoError(t, err)
	for _, path := range files {
		if filepath.Base(path) == "overlap.jsonl" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			p := process{files: map[string]string{"cases.jsonl": string(data)}}
			require.Equal(t, ExitOK, p.run(t.Context(), "spec", "next", "--cases", "cases.jsonl"), p.stderr.String())
			answers := bufio.NewScanner(strings.NewReader(p.stdout.String()))
			answers.Buffer(nil, 1<<20)
			for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
				var want expected
				require.NoError(t, json.Unmarshal([]byte(line), &want))
				var got caseAnswer
				require.True(t, answers.Scan(), want.ID)
				require.NoError(t, json.Unmarshal(answers.Bytes(), &got))
				require.Equal(t, want.ID, got.ID)
				want.check(t, got)
			}
			assert.False(t, answers.Scan(), "more answers than cases")
		})
	}
}

func (want *expected) check(t *testing.T, got caseAnswer) {
	switch {
	case want.Quirk && want.BruteForce == nil:
		// Lax input: the tests of specproc check what is decided about each case.
	case want.Quirk:
		require.Empty(t, got.Error, want.ID)
		for i, nominal := range want.BruteForce[:min(len(want.BruteForce), caseTimes)] {
			require.Less(t, i, len(got.Next), want.ID)
			require.Equal(t, nominal, got.Next[i].Nominal, want.ID)
		}
	case want.Error:
		require.NotEmpty(t, got.Error, want.ID)
	default:
		require.Empty(t, got.Error, want.ID)
		shown := want.Next[:min(len(want.Next), caseTimes)]
		require.GreaterOrEqual(t, len(got.Next), len(shown), want.ID)
		require.Equal(t, shown, got.Next[:len(shown)], want.ID)
		if want.Exhausted {
			require.Len(t, got.Next, len(shown), want.ID)
		}
	}
}
