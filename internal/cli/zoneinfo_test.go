package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// TestZoneinfoSaysWhatIsWrong: a command that silently used other time zones than the user asked for would do harm.
func TestZoneinfoSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "zones.zip")
	require.NoError(t, os.WriteFile(text, []byte("Europe/Berlin"), 0o600))
	for path, want := range map[string]string{
		text:                           "is neither a zip file of compiled time zones nor a directory of them",
		filepath.Join(text, "missing"): "not a directory",
		t.TempDir():                    "holds no time zones",
	} {
		for _, args := range [][]string{
			{"spec", "next", "--cron", "0 9 * * *"}, {"version"}, {"generator"}, {"server", "--data", t.TempDir()},
		} {
			p := process{env: map[string]string{"CARILLON_ZONEINFO": path}}
			assert.Equal(t, ExitUsage, p.run(t.Context(), args...), "%v", args)
			assert.Contains(t, p.stderr.String(), "--zoneinfo", "%v", args)
			assert.Contains(t, p.stderr.String(), path)
			assert.Contains(t, p.stderr.String(), want)
		}
	}
}

func TestVersionSaysWhichZones(t *testing.T) {
	t.Parallel()
	var p process
	require.Equal(t, ExitOK, p.run(t.Context(), "version"))
	assert.Contains(t, p.stdout.String(), "zones        "+zonedata.Current().Version()+"\n")
	p = process{}
	require.Equal(t, ExitOK, p.run(t.Context(), "version", "-o", "json"))
	assert.Contains(t, p.stdout.String(), `"zones": "`+zonedata.Current().Version()+`"`)
}
