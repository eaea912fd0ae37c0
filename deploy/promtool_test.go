package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// runPromtool runs the tool of Prometheus, and skips the test where it is not installed.
func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: it is in the package prometheus of Debian")
	}
	output, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, string(output))
}

// TestPromtool lets Prometheus itself read the configuration and the rules, and run the tests of the rules.
func TestPromtool(t *testing.T) {
	t.Parallel()
	rules, err := filepath.Glob(filepath.Join(rulesHome, "*.rules.yml"))
	require.NoError(t, err)
	runPromtool(t, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rules...)...)
	runPromtool(t, "check", "config", filepath.Join(rulesHome, "prometheus.yml"))
	runPromtool(t, "test", "rules", filepath.Join(rulesHome, "rules_test.yml"))
}

// TestPromtoolReadsDashboards lets Prometheus read the query of each panel, as if each were a rule.
func TestPromtoolReadsDashboards(t *testing.T) {
	t.Parallel()
	var queries []map[string]string
	for _, d := range loadDashboards(t) {
		for _, p := range d.allPanels() {
			for _, query := range p.Targets {
				expr := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$__interval", "1m").Replace(query.Expr)
				queries = append(queries, map[string]string{"record": "query" + strconv.Itoa(len(queries)), "expr": expr})
			}
		}
	}
	group := map[string]any{"name": "dashboards", "rules": queries}
	text, err := yaml.Marshal(map[string]any{"groups": []any{group}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	runPromtool(t, "check", "rules", file)
}
