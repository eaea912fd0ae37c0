package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestErrorsSayWhatIsMeant: an error about an unknown name suggests the name that was probably meant.
func TestErrorsSayWhatIsMeant(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "nightly-report", "--type", "noop")
	const schedules = "carillon schedule list shows the schedules of namespace default; --namespace chooses another\n"
	for command, want := range map[string]string{
		"schedule describe nightly-raport":          `hint: did you mean "nightly-report"? ` + schedules,
		"schedule pause ightly-report":              `hint: did you mean "nightly-report"? ` + schedules,
		"schedule trigger weekly --wait":            "hint: " + schedules,
		"run list --namespace defalt":               `hint: did you mean "default"? carillon namespace list shows the namespaces` + "\n",
		"schedule list --namespace other":           "hint: carillon namespace list shows the namespaces\n",
		"namespace describe other":                  "hint: carillon namespace list shows the namespaces\n",
		"run describe nightly-report x":             "hint: carillon run list nightly-report shows the newest runs\n",
		"schedule cancel-backfill nightly-report x": "hint: carillon schedule describe nightly-report shows the triggers and backfills in progress\n",
	} {
		p := process{env: map[string]string{"CARILLON_NATS": url}}
		assert.Equal(t, ExitNotFound, p.run(t.Context(), strings.Fields(command)...), command)
		assert.True(t, strings.HasSuffix(p.stderr.String(), want), "%s: %s", command, p.stderr.String())
	}
	server.stopped(t)
}
