package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// large returns an input of the maximum size: a text, or if deep, a list nested so deeply that its lines in block style are mostly
// indentation.
func large(deep bool) json.RawMessage {
	if !deep {
		return json.RawMessage(`"` + strings.Repeat("x", schedule.MaxInputBytes-2) + `"`)
	}
	const depth = schedule.MaxInputDepth
	numbers := strings.Repeat("0,", schedule.MaxInputBytes/2-depth-1) + "0"
	return json.RawMessage(strings.Repeat("[", depth) + numbers + strings.Repeat("]", depth))
}

func exported(t *testing.T, all []manifest) string {
	t.Helper()
	p := process{}
	a := app{env: p.Env()}
	for i := range all {
		require.NoError(t, a.export(&schedule.Description{ID: all[i].ID, Schedule: all[i].Schedule}))
	}
	return p.stdout.String()
}

// TestExportOfThousandsIsRead: the text of all schedules together may have any size.
func TestExportOfThousandsIsRead(t *testing.T) {
	t.Parallel()
	all := make([]manifest, 3000)
	for i := range all {
		all[i].ID = fmt.Sprintf("s%d", i)
		all[i].Spec.Intervals = []schedule.Interval{{Every: schedule.Duration(time.Hour)}}
		all[i].Action = schedule.Action{Type: "noop", TaskQueue: "q", Input: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}
	}
	text := exported(t, all)
	require.Greater(t, len(text), jsontext.MaxBytes)
	found, err := Env{Stdin: strings.NewReader(text)}.readManifests("-", "default")
	require.NoError(t, err)
	require.Len(t, found, len(all))
	for i := range found {
		require.Equal(t, all[i].Schedule, found[i].Schedule)
	}
}

// TestLargeSchedulesEndToEnd: schedules of the maximum size can be exported, described and edited, and the files can be read again.
func TestLargeSchedulesEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	dir := t.TempDir()
	for i := range 10 {
		text, err := apitext.EncodeJSON(manifest{ID: fmt.Sprintf("large-%d", i), Schedule: schedule.Schedule{
			Action: schedule.Action{Type: "noop", TaskQueue: "q", Input: large(i == 0)},
		}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), text, 0o600))
	}
	c.ok("apply", "--file", dir, "--yes", "-q")
	for _, args := range [][]string{{"export"}, {"describe", "large-0", "-o", "yaml"}} {
		file := filepath.Join(t.TempDir(), "all.yaml")
		require.NoError(t, os.WriteFile(file, []byte(c.ok(args...)), 0o600))
		assert.Contains(t, c.ok("diff", "--file", file), " unchanged\n")
	}
	server.stopped(t)
}
