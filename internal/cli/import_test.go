package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
)

// importNow is the time of the imports in the tests. Their notes about clock changes depend on it.
var importNow = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// runImport imports a text. It returns the process and all of its output as one page.
func runImport(t testing.TB, text string, args ...string) (string, *process) {
	p := &process{stdin: text, now: importNow}
	code := p.run(t.Context(), append([]string{"import"}, args...)...)
	return fmt.Sprintf("%s=== standard error, exit code %d\n%s", p.stdout.String(), code, p.stderr.String()), p
}

// TestImportFiles compares the whole output about files with golden files, and reads it as apply does.
func TestImportFiles(t *testing.T) {
	t.Parallel()
	for kind, command := range map[string][]string{
		"crontab": {"crontab", "-", "--time-zone", "Europe/Berlin"}, "cronjob": {"k8s-cronjob", "-"},
	} {
		files, err := filepath.Glob(filepath.Join("testdata", "import", kind, "*.[ty]a*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				args := command
				if name == "system" {
					args = append(args[:len(args):len(args)], "--system")
				}
				written, p := runImport(t, string(text), args...)
				golden.Equal(t, filepath.Join("import", kind, name+".golden"), written)
				requireReadable(t, p.stdout.String())
			})
		}
	}
}

// requireReadable reads a file as apply does and returns its IDs. An empty file has none.
func requireReadable(t testing.TB, text string) []string {
	if text == "" {
		return nil
	}
	env := Env{Stdin: strings.NewReader(text)}
	found, err := env.readManifests("-", "default")
	require.NoError(t, err, text)
	var ids []string
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids
}

const crontabText = `
# comment
MAILTO=ops@example.com
CRON_TZ=Europe/Berlin
SHELL = /bin/bash
0 2 * * mon-fri  /usr/bin/backup --full /data
*/5	* * * *	curl -s "http://a/?x=%25" \% 50%first%second
@daily /usr/bin/backup
`

// TestImportIsWhatApplyReads: apply can read every import, and the IDs are distinct.
func TestImportIsWhatApplyReads(t *testing.T) {
	t.Parallel()
	_, p := runImport(t, crontabText, "crontab", "-", "--id-prefix", "cron-", "--task-queue", "shell")
	assert.Contains(t, p.stdout.String(), "---\n# line 6: 0 2 * * mon-fri /usr/bin/backup --full /data\n# note: the variable MAILTO")
	assert.Contains(t, p.stderr.String(), "cron-backup: the variable MAILTO is not set")
	assert.Contains(t, p.stdout.String(), "taskQueue: shell")
	assert.Equal(t, []string{"cron-backup", "cron-curl", "cron-backup-2"}, requireReadable(t, p.stdout.String()))
}

// TestImportExitCodes: the exit code of an import tells whether it left something out. The import names everything it left out.
func TestImportExitCodes(t *testing.T) {
	t.Parallel()
	const good, bad = "0 5 * * * /opt/a\n", "@reboot /opt/b\n99 2 * * * x\n"
	for name, test := range map[string]struct {
		text string
		args []string
		code int
		want []string
	}{
		"all":           {good, nil, ExitOK, []string{"UTC is assumed"}},
		"nothing there": {"# comment\n", nil, ExitOK, []string{"nothing to import"}},
		"some": {good + bad, nil, ExitPartly, []string{
			"error: line 2: @reboot /opt/b: @reboot has no time", "error: line 3: 99 2 * * * x: minute", "error: 2 entries are left out, of 3",
		}},
		"none":     {bad, nil, ExitUsage, []string{"error: line 1: @reboot", "error: 2 entries are left out, of 2"}},
		"one":      {"99 2 * * * x\n", nil, ExitUsage, []string{"error: line 1: 99 2 * * * x: minute"}},
		"no zone":  {good, []string{"--time-zone", "Mars/Olympus"}, ExitUsage, []string{`error: --time-zone: "Mars/Olympus" is not a known`}},
		"too long": {good, []string{"--id-prefix", strings.Repeat("x", 255)}, ExitUsage, []string{"line 1: 0 5 * * * /opt/a: id"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written, p := runImport(t, test.text, append([]string{"crontab", "-"}, test.args...)...)
			assert.Contains(t, written, fmt.Sprintf("exit code %d\n", test.code))
			for _, want := range test.want {
				assert.Contains(t, p.stderr.String(), want)
			}
			assert.Equal(t, test.code == ExitUsage || name == "nothing there", p.stdout.String() == "", "a file only if there is a schedule")
		})
	}
	_, p := runImport(t, `{"scheduleId": "a", "schedule": {"action": {"other": {}}}}
		{"scheduleId": "b", "schedule": {"action": {"startWorkflow": {"workflowType": {"name": "T"}}}}}`, "temporal-json", "-")
	assert.Equal(t, "error: schedule 1: action: is not startWorkflow, the only one that is known\nerror: 1 entry is left out, of 2\n", p.stderr.String())
	assert.Contains(t, p.stdout.String(), "# left out: schedule 1: ")
	assert.Equal(t, []string{"b"}, requireReadable(t, p.stdout.String()))
}

// TestComment: whatever text a file contains, a comment about it is one line of valid YAML.
func TestComment(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `a b\a\u200b �é`, comment("a\r\n b\a\u200b\t\xff\u00e9"))
}
