package archive_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// remembered are marks in memory.
type remembered map[string]string

func (r remembered) Mark(_ context.Context, folder string) (string, error) { return r[folder], nil }

func (r remembered) Remember(_ context.Context, folder, mark string) (string, error) {
	if r[folder] == "" {
		r[folder] = mark
	}
	return r[folder], nil
}

// TestFolderThatIsNotMounted: a folder that was used before is used again only as itself. An empty one in its place, as a disk leaves that is not mounted,
// takes nothing and has nothing to say, also if it appears while the bucket is open.
func TestFolderThatIsNotMounted(t *testing.T) {
	t.Parallel()
	root, marks := t.TempDir(), remembered{}
	at, elsewhere := filepath.Join(root, "archive"), filepath.Join(root, "elsewhere")
	store, address := archive.Store{Marks: marks}, "file://"+filepath.ToSlash(at)
	_, err := store.Open(t.Context(), address)
	require.ErrorIs(t, err, archive.ErrFolder)
	require.ErrorContains(t, err, at)
	require.NoFileExists(t, at)

	require.NoError(t, os.Mkdir(at, 0o750))
	opened, err := store.Open(t.Context(), address)
	require.NoError(t, err)
	defer opened.Close()
	require.NotEmpty(t, marks[at])
	require.NoError(t, opened.Put(t.Context(), "a/b", []byte("c")))
	again, err := store.Open(t.Context(), address)
	require.NoError(t, err)
	require.NoError(t, again.Close())

	require.NoError(t, os.Rename(at, elsewhere))
	require.NoError(t, os.Mkdir(at, 0o750))
	_, err = store.Open(t.Context(), address)
	require.ErrorIs(t, err, archive.ErrFolder)
	require.ErrorContains(t, err, "is missing. Mount that folder")
	require.ErrorIs(t, opened.Put(t.Context(), "a/c", []byte("c")), archive.ErrFolder)
	require.NoDirExists(t, filepath.Join(at, "a"))
	_, err = opened.Get(t.Context(), "a/b")
	require.ErrorIs(t, err, archive.ErrFolder)
	_, err = opened.Days(t.Context(), "default")
	require.ErrorIs(t, err, archive.ErrFolder)
	require.NoError(t, os.WriteFile(filepath.Join(at, ".carillon-archive"), []byte("another"), 0o600))
	_, err = store.Open(t.Context(), address)
	require.ErrorContains(t, err, "has another mark")

	require.NoError(t, os.RemoveAll(at))
	require.NoError(t, os.Rename(elsewhere, at))
	data, err := opened.Get(t.Context(), "a/b")
	require.NoError(t, err)
	require.Equal(t, "c", string(data))
	marks[at] = "" // another installation, or one that was restored without its records, finds the mark
	_, err = store.Open(t.Context(), address)
	require.NoError(t, err)
}

// TestFolderThatCannotBeRead: what a list cannot read is an error. It is not left out.
func TestFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in, err := archive.Store{}.Open(t.Context(), "file://"+filepath.ToSlash(root))
	require.NoError(t, err)
	defer in.Close()
	entries := archive.EntriesPrefix("default", "2026-11-28", "Order", "10")
	lists := map[string]func() error{
		"default/days": func() error {
			_, err := in.Days(t.Context(), "default")
			return err
		},
		"default/types/2026-11-28": func() error {
			_, err := in.Types(t.Context(), "default", "2026-11-28")
			return err
		},
		"default/hours/2026-11-28/Order": func() error {
			_, err := in.Hours(t.Context(), "default", "2026-11-28", "Order")
			return err
		},
		"default/schedules/nightly": func() error {
			_, err := in.EventObjects(t.Context(), "default", "nightly", "")
			return err
		},
		"default/schedule-days/2026-11-28": func() error {
			_, err := in.EventIndexes(t.Context(), "default", "2026-11-28")
			return err
		},
		strings.TrimSuffix(entries, "/"): func() error {
			_, _, err := in.Page(t.Context(), entries, blob.FirstPageToken, 10)
			return err
		},
	}
	for folder, list := range lists {
		require.NoError(t, list(), "%s does not exist", folder)
		at := filepath.Join(root, filepath.FromSlash(folder))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, nil, 0o600))
		require.Error(t, list(), "%s is a file", folder)
		require.NoError(t, os.Remove(at))
		if err := os.Symlink(at, at); err == nil {
			require.Error(t, list(), "%s leads to itself", folder)
			require.NoError(t, os.Remove(at))
		}
		require.NoError(t, os.Mkdir(at, 0o750))
		require.NoError(t, list(), "%s is empty", folder)
	}
	if os.Getuid() <= 0 {
		return // permissions do not keep this user from reading, or the system has none
	}
	at := filepath.Join(root, "default", "schedule-days", "2026-11-28")
	require.NoError(t, os.Chmod(at, 0))
	_, err = in.EventIndexes(t.Context(), "default", "")
	require.ErrorIs(t, err, os.ErrPermission)
	require.NoError(t, os.Chmod(at, 0o750))
}
