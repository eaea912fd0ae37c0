package search_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestAbandonedIndexesAreRemoved: a killed process leaves a temporary folder, and the next process removes it. It leaves the
// folders of live processes, and everything else there, alone.
func TestAbandonedIndexesAreRemoved(t *testing.T) {
	t.Parallel()
	in, parent := install(t), t.TempDir()
	old := time.Now().Add(-time.Hour)
	folder := func(name string, locked time.Time) string {
		dir := filepath.Join(parent, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		lock := filepath.Join(dir, "search.lock")
		require.NoError(t, os.WriteFile(lock, nil, 0o600))
		require.NoError(t, os.Chtimes(lock, locked, locked))
		return dir
	}
	abandoned := folder("carillon-search-1", old)
	fresh, other := folder("carillon-search-2", time.Now()), folder("other", old)
	held := folder("carillon-search-3", old)
	holder := flock.New(filepath.Join(held, "search.lock"))
	locked, err := holder.TryLock()
	require.NoError(t, err)
	require.True(t, locked)
	defer func() { _ = holder.Close() }()

	config := in.config()
	config.Temporary = parent
	_, stop := run(t, config)
	natstest.Eventually(t, patience, "the abandoned folder is gone", func() bool {
		_, err := os.Stat(abandoned)
		return os.IsNotExist(err)
	})
	stop()
	left, err := filepath.Glob(filepath.Join(parent, "*"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{fresh, held, other}, left, "nor is its own left")
}
