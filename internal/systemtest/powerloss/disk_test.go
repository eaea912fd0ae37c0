//go:build linux

package powerloss_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/systemtest/powerloss"
)

func TestWhatIsNotSyncedIsLost(t *testing.T) {
	disk := powerloss.New(t)
	path := func(name string) string { return filepath.Join(disk.Dir, name) }
	write := func(name string, flags int, sync bool, texts ...string) {
		file, err := os.OpenFile(path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND|flags, 0o600)
		require.NoError(t, err)
		for _, text := range texts {
			_, err = file.WriteString(text)
			require.NoError(t, err)
		}
		if sync {
			require.NoError(t, file.Sync())
		}
		require.NoError(t, file.Close())
	}
	require.NoError(t, os.Mkdir(path("dir"), 0o700))
	write("never", 0, false, "one")
	write("dir/synced", 0, true, "one", "two")
	write("dir/synced", 0, false, "three")
	write("always", os.O_SYNC, false, "one", "two")
	write("before", 0, true, "one")
	require.NoError(t, os.Rename(path("before"), path("after")))
	write("after", 0, true, "two")
	write("cut", 0, true, "onetwo")
	require.NoError(t, os.Truncate(path("cut"), 3))
	write("gone", 0, true, "one")
	require.NoError(t, os.Remove(path("gone")))
	seen, err := os.ReadFile(path("dir/synced"))
	require.NoError(t, err)
	require.Equal(t, "onetwothree", string(seen), "as long as there is power")

	left := disk.Cut(t)
	for name, want := range map[string]string{
		"never": "", "dir/synced": "onetwo", "always": "onetwo", "after": "onetwo", "cut": "onetwo",
	} {
		got, err := os.ReadFile(filepath.Join(left, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), name)
	}
	for _, name := range []string{"before", "gone"} {
		require.NoFileExists(t, filepath.Join(left, name))
	}
}
