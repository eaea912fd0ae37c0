package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReportForPeople: the readable report names what was found, unless there is too much of it.
func TestReportForPeople(t *testing.T) {
	t.Parallel()
	r := Report{Seed: 7, Settled: true, Faults: map[Kind]int{KillRole: 2, CutNode: 1}, Exits: []string{"nats-0 ended"}, Dir: "folder"}
	require.True(t, r.OK())
	for i := range maxProblems + 2 {
		r.Problems = append(r.Problems, Problem{Kind: kindMissed, ScheduleID: "s", RequestID: fmt.Sprint(i), Nominal: began, What: "gone"})
	}
	require.False(t, r.OK())
	r.Settled = false
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	for _, want := range []string{
		"seed         7\n", "cut_node 1, kill_role 2\n", "nats-0 ended\n", "missed: s 2030-01-01T12:00:00Z 29: gone\n", "and 2 more\n",
		"unsettled ", "kept         folder\n",
	} {
		require.Contains(t, text.String(), want)
	}
	require.Equal(t, maxProblems, strings.Count(text.String(), "gone"))
}

// TestReportAsJSON: the JSON has the promised keys, an empty list for nothing, and no folder where nothing is kept.
func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Report{Findings: check(&evidence{}), Faults: map[Kind]int{}})
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(text, &object))
	for _, key := range []string{"expected", "started", "missed", "doubled", "lost", "faults"} {
		require.Contains(t, object, key)
	}
	require.Equal(t, []any{}, object["problems"])
	require.NotContains(t, object, "dir")
}

// TestReportsOfTheDocumentation: the documented reports are of runs that found nothing, and the page beside them names each.
func TestReportsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	const folder = "../../docs/reliability"
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var r Report
		require.NoError(t, decoder.Decode(&r), path)
		require.True(t, r.OK(), path)
		require.Empty(t, r.Dir, path)
		require.Contains(t, string(page), filepath.Base(path))
	}
}
