package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestClusterBackupHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"cluster backup", "cluster restore"} {
		var p process
		assert.Equal(t, ExitOK, p.run(t.Context(), append(strings.Fields(command), "--help")...))
		golden.Equal(t, "help/carillon_"+strings.ReplaceAll(command, " ", "_")+".txt", p.stdout.String())
	}
}

func TestClusterBackupUsage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for command, want := range map[string]string{
		"cluster backup":                       "DIR is missing\nhint: usage: carillon cluster backup DIR [flags]",
		"cluster restore a b":                  "unexpected argument \"b\"\nhint: usage: carillon cluster restore DIR [flags]",
		"cluster restore a --resume-from soon": "--resume-from: \"soon\" is not a time",
		"cluster restore a --data b --nats c":  "--data and --nats name two NATS servers: give one of them",
		"cluster restore a --replicas two":     "--replicas: \"two\" is not a whole number",
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), strings.Fields(command)...), command)
		assert.Contains(t, p.stderr.String(), "error: "+want)
		assert.Empty(t, p.stdout.String())
	}
	var p process
	assert.Equal(t, ExitConflict, p.run(t.Context(), "cluster", "restore", folder, "--nats", natstest.Shared(t).ClientURL()))
	assert.Equal(t, "error: "+folder+" holds no backup: it has no manifest.json\n", p.stderr.String())
}

// TestClusterBackupAndRestore moves an installation from one data folder to another.
func TestClusterBackupAndRestore(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "tick", "--every", "1s", "--type", "noop")
	c.until("tick", "it runs", func(d schedule.Description) bool { return completedRuns(d) > 0 })
	dir, env := filepath.Join(t.TempDir(), "backup"), map[string]string{"CARILLON_NATS": url}

	p := process{env: env}
	require.Equal(t, ExitOK, p.run(t.Context(), "cluster", "backup", dir), p.stderr.String())
	assert.Regexp(t, "^"+regexp.QuoteMeta(dir)+` holds all of carillon as of 20\S+Z: 25 streams, \d+ messages, \d+\.\d MB`+"\n$", p.stdout.String())
	assert.Empty(t, p.stderr.String(), "no progress where there is no terminal")
	p = process{env: env}
	assert.Equal(t, ExitConflict, p.run(t.Context(), "cluster", "backup", dir))
	assert.Equal(t, "error: "+dir+" exists already\n", p.stderr.String())
	p = process{env: env}
	assert.Equal(t, ExitConflict, p.run(t.Context(), "cluster", "restore", dir))
	assert.Regexp(t, `^error: there is an installation of prefix carillon: stream .* and 22 others\nhint: a backup is restored into an empty place`, p.stderr.String())
	p = process{env: env}
	require.Equal(t, ExitOK, p.run(t.Context(), "cluster", "backup", dir+"-2", "-o", "json"))
	var manifest backup.Manifest
	require.NoError(t, json.Unmarshal([]byte(p.stdout.String()), &manifest))
	assert.Len(t, manifest.Streams, 25)
	assert.WithinDuration(t, time.Now(), manifest.Moment, time.Minute)
	server.stopped(t)

	data := filepath.Join(t.TempDir(), "data")
	p = process{}
	require.Equal(t, ExitOK, p.run(t.Context(), "cluster", "restore", dir, "--data", data, "--resume-from", "now", "--log-level", "error"), p.stderr.String())
	assert.Regexp(t, `^restored carillon as of 20\S+Z: 1 schedule in 25 streams\n(?s:.*)start the processes of the installation now\n$`, p.stdout.String())
	server, url = startServer(t, "--data", data)
	c = cli{t, url}
	before := c.describe("tick")
	c.until("tick", "it goes on", func(d schedule.Description) bool { return d.Info.ActionCount > before.Info.ActionCount })
	server.stopped(t)
}

func TestWriteSummary(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 31, 22, 0, 0, 0, time.UTC)
	for name, s := range map[string]backup.Summary{
		"quiet": {Prefix: "carillon", Moment: at, Streams: 13, Schedules: 1},
		"busy": {
			Prefix: "carillon", Moment: at, Streams: 13, Schedules: 240,
			Counts: backup.Counts{
				Deferred: 48, Started: 43, Completed: 47, GivenUp: 4, Requeued: 13, Withdrawn: 36, HandOffs: 1, Forgotten: 1, Paused: 1,
				Deleted: 1, Assumed: 1200,
			},
			Gone: []backup.Lost{{Namespace: "default", ScheduleID: "old", Kind: schedule.EventDeleted, Time: at}},
			Lost: []backup.Lost{{Namespace: "default", ScheduleID: "report\x1b[2J", Kind: schedule.EventUpdated, Time: at}},
		},
	} {
		var out strings.Builder
		require.NoError(t, writeSummary(&out, &s))
		golden.Equal(t, "cluster/restored_"+name+".txt", out.String())
	}
}

// TestSteps: the steps share one line, which is overwritten.
func TestSteps(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := steps{out: &out}
	s.show("copy A", 0, 2)
	s.show("copy B", 1, 2)
	s.end()
	assert.Equal(t, "\r0 of 2: copy A\x1b[K\r1 of 2: copy B\x1b[K\r\x1b[K", out.String())
	quiet := (&app{env: Env{Stderr: &out}}).steps()
	out.Reset()
	quiet.show("copy A", 0, 2)
	quiet.end()
	assert.Empty(t, out.String(), "it is no terminal")
}
