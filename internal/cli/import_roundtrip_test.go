package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/importer/importertest"
)

// TestImportRoundTrips: the output of an import can be applied, whatever the file. Applying it again changes nothing, and neither does
// exporting and applying the schedules. Every line of the file is either converted or named.
func TestImportRoundTrips(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	for seed := range 3 {
		lines := rapid.SliceOfN(importertest.CrontabLine(), 40, 40).Example(seed)
		requireRoundTrip(t, c, fmt.Sprintf("tab%d-", seed), strings.Join(lines, "\n")+"\n", "crontab", "--time-zone", "Europe/Berlin")
		documents := rapid.SliceOfN(importertest.CronJobDocument(), 40, 40).Example(seed)
		requireRoundTrip(t, c, fmt.Sprintf("job%d-", seed), strings.Join(documents, "\n---\n"), "k8s-cronjob")
	}
	server.stopped(t)
}

// requireRoundTrip imports a text. The IDs begin with the prefix.
func requireRoundTrip(t *testing.T, c cli, prefix, text, kind string, flags ...string) {
	t.Helper()
	written, p := runImport(t, text, append([]string{kind, "-", "--id-prefix", prefix}, flags...)...)
	require.Contains(t, written, "exit code 8", "the files have good and bad ones")
	ids := requireReadable(t, p.stdout.String())
	left := strings.Count(p.stdout.String(), "\n# left out: ") + 1
	require.Greater(t, len(ids), 10, written)
	assert.Contains(t, p.stderr.String(), fmt.Sprintf("left out, of %d\n", len(ids)+left))

	file := filepath.Join(t.TempDir(), "imported.yaml")
	require.NoError(t, os.WriteFile(file, []byte(p.stdout.String()), 0o600))
	code, _, stderr := c.run("apply", "--file", file, "--yes")
	require.Equal(t, ExitOK, code, stderr)
	code, exported, stderr := c.run("export", "--id-prefix", prefix)
	require.Equal(t, ExitOK, code, stderr)
	again := filepath.Join(t.TempDir(), "exported.yaml")
	require.NoError(t, os.WriteFile(again, []byte(exported), 0o600))
	for _, file := range []string{file, again} {
		code, stdout, stderr := c.run("apply", "--file", file, "--dry-run")
		require.Equal(t, ExitOK, code, stderr)
		assert.Equal(t, fmt.Sprintf("%d unchanged\n", len(ids)), stdout)
	}
}
