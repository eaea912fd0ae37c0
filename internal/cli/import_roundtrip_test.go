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
)

// crontabLine draws a line of a crontab, good or bad.
func crontabLine() *rapid.Generator[string] {
	words := rapid.SampledFrom([]string{
		"/opt/a", "backup", "%", `\%`, `\\`, "# no comment", "'it''s'", `"x: y"`, "- z", "|", "日本", "\x07", "\xff", "{{x}}", "{a: b}", "*", "&", "  ", "\t",
		"é", "\u200b", "\u0085", "null", "~", "0x10",
	})
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{
				"CRON_TZ=Asia/Tokyo", "CRON_TZ=", "TZ=UTC", "SHELL=/bin/bash", "MAILTO=a@b", "RANDOM_DELAY=7", "RANDOM_DELAY=x", "A = 'b", "# c", "",
			}).Draw(t, "variable")
		case 1:
			return rapid.SampledFrom([]string{"@reboot x", "@hourly", "@weekly a", "- x", "5", "-@daily b"}).Draw(t, "other")
		}
		times := strings.ReplaceAll(kubernetesExpression().Draw(t, "times"), "?", "*")
		return times + " " + strings.Join(rapid.SliceOfN(words, 1, 6).Draw(t, "command"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
	})
}

// cronJobDocument draws a CronJob, or what is none.
func cronJobDocument() *rapid.Generator[string] {
	text := rapid.SampledFrom([]string{"x", "on", "0644", "~", "*", "a: b", "é\n\tz", "1e400", "\u2028", "---", "- x", "2026-01-01"})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			return rapid.SampledFrom([]string{"kind: Job", "# nothing", "a: [", "7", "kind: CronJob", "kind: List\nitems: [{kind: CronJob}]"}).Draw(t, "other")
		}
		zone := rapid.SampledFrom([]string{"", "Europe/Berlin", "Pacific/Apia", "America/Santiago", "Mars/Olympus"}).Draw(t, "zone")
		optional := ""
		if zone != "" {
			optional = ", timeZone: " + zone
		}
		if rapid.Bool().Draw(t, "deadline") {
			optional += fmt.Sprintf(", startingDeadlineSeconds: %d", rapid.SampledFrom([]int{0, 9, 60, 3600, 1 << 33, 1 << 40}).Draw(t, "seconds"))
		}
		return fmt.Sprintf("kind: CronJob\nmetadata: {name: n%d, namespace: %s}\nspec: {schedule: %q, suspend: %v%s, jobTemplate: {a: %q, mode: 0644, on: yes, f: 1.50}}",
			rapid.IntRange(0, 3).Draw(t, "name"), rapid.SampledFrom([]string{"x", "z-n1", "z"}).Draw(t, "namespace"),
			kubernetesExpression().Draw(t, "schedule"), rapid.Bool().Draw(t, "suspend"), optional, text.Draw(t, "text"))
	})
}

// TestImportRoundTrips: what an import writes of any file can be applied, and nothing of it has changed when it is applied
// once more, or exported and applied. Every line is written, or named.
func TestImportRoundTrips(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	for seed := range 3 {
		lines := rapid.SliceOfN(crontabLine(), 40, 40).Example(seed)
		requireRoundTrip(t, c, fmt.Sprintf("tab%d-", seed), strings.Join(lines, "\n")+"\n", "crontab", "--time-zone", "Europe/Berlin")
		documents := rapid.SliceOfN(cronJobDocument(), 40, 40).Example(seed)
		requireRoundTrip(t, c, fmt.Sprintf("job%d-", seed), strings.Join(documents, "\n---\n"), "k8s-cronjob")
	}
	server.stopped(t)
}

// requireRoundTrip imports a text, with IDs that begin with the prefix.
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
