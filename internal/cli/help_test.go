package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/golden"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "server", "generator", "worker", "schedule", "schedule create", "schedule describe", "schedule list",
		"schedule pause", "schedule trigger", "schedule apply", "schedule diff", "schedule export", "import",
		"import crontab", "import k8s-cronjob", "import temporal-json", "version",
		"namespace", "namespace create", "namespace delete", "namespace describe", "namespace freeze", "namespace list",
		"namespace unfreeze", "namespace update", "workflow", "workflow start",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			args := append(strings.Fields(command), "--help")
			assert.Equal(t, ExitOK, p.run(t.Context(), args...))
			assert.Empty(t, p.stderr.String())
			golden.Equal(t, "help/"+strings.Join(append([]string{"carillon"}, args[:len(args)-1]...), "_")+".txt", p.stdout.String())
		})
	}
}

func TestHelpWithoutACommand(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "schedule"} {
		var asked, alone process
		assert.Equal(t, ExitOK, asked.run(t.Context(), append(strings.Fields(command), "--help")...))
		assert.Equal(t, ExitOK, alone.run(t.Context(), strings.Fields(command)...))
		assert.Equal(t, asked.stdout.String(), alone.stdout.String())
	}
}

// TestHelpHasNoLongLines keeps the help readable in a terminal of ordinary width.
func TestHelpHasNoLongLines(t *testing.T) {
	t.Parallel()
	for _, path := range leaves((&app{}).rootCommand()) {
		var p process
		p.run(t.Context(), append(path, "--help")...)
		for _, line := range strings.Split(p.stdout.String(), "\n") {
			assert.LessOrEqual(t, len(line), 120, line)
		}
	}
}
