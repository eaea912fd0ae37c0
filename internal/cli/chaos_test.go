package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/golden"
)

func TestChaosHelp(t *testing.T) {
	t.Parallel()
	var p process
	require.Equal(t, ExitOK, p.run(t.Context(), "chaos", "--help"))
	golden.Equal(t, "help/carillon_chaos.txt", p.stdout.String())
}

func TestChaosRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "file"), nil, 0o600))
	for want, args := range map[string][]string{
		"--duration: 1s is too short":         {"--duration", "1s"},
		"--schedules: 0 is out of range":      {"--schedules", "0"},
		"--schedules: 10001 is out of range":  {"--schedules", "10001"},
		"--workflows: -1 is out of range":     {"--workflows", "-1"},
		"--settle: -1s is negative":           {"--settle", "-1s"},
		"--seed: \"x\" is not a whole number": {"--seed", "x"},
		"is not empty":                        {"--dir", full},
	} {
		var p process
		require.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"chaos"}, args...)...), want)
		require.Contains(t, p.stderr.String(), want)
		require.Empty(t, p.stdout.String())
	}
}

// TestChaosProcessesAreNotForPeople: the help does not list the commands of the helper processes.
func TestChaosProcessesAreNotForPeople(t *testing.T) {
	t.Parallel()
	var p process
	require.Equal(t, ExitOK, p.run(t.Context(), "--help"))
	require.Contains(t, p.stdout.String(), "chaos ")
	require.NotContains(t, p.stdout.String(), "chaos-")
	require.Equal(t, ExitUsage, p.run(t.Context(), "chaos-node"))
	require.Equal(t, ExitFailure, p.run(t.Context(), "chaos-node", "nonsense"))
}
