package metrics_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

const pageFile = "../../docs/metrics.md"

func TestPage(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, os.WriteFile(pageFile, []byte(metrics.Page()), 0o600))
	}
	page, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	require.Equal(t, string(page), metrics.Page(), "docs/metrics.md is stale: go test ./internal/metrics -run Page -update")
}
