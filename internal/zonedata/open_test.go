package zonedata_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// compiled returns the contents of the file in the binary: its zones by name, and its version.
func compiled(t *testing.T) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader("zones.zip")
	require.NoError(t, err)
	defer archive.Close() //nolint:errcheck // nothing was written
	all := map[string][]byte{}
	for _, file := range archive.File {
		reader, err := archive.Open(file.Name)
		require.NoError(t, err)
		info, err := reader.Stat()
		require.NoError(t, err)
		all[file.Name] = make([]byte, info.Size())
		_, err = reader.Read(all[file.Name])
		if info.Size() > 0 {
			require.True(t, err == nil || err.Error() == "EOF", file.Name)
		}
		require.NoError(t, reader.Close())
	}
	return all
}

// packed writes files to a zip file without compression, like Go's own.
func packed(t *testing.T, files map[string][]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "zones.zip")
	file, err := os.Create(name)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for name, content := range files {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
	return name
}

// unpacked writes files to a directory.
func unpacked(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	return dir
}

func TestOpen(t *testing.T) {
	t.Parallel()
	files := compiled(t)
	files["Asia/Tokyo"] = files["Europe/Berlin"]
	files[zonedata.VersionEntry] = []byte("2027a\n")
	want := ""
	for kind, path := range map[string]string{"zip": packed(t, files), "directory": unpacked(t, files)} {
		data, err := zonedata.Open(path)
		require.NoError(t, err, kind)
		assert.Equal(t, "2027a", data.Version(), kind)
		assert.Equal(t, path, data.Source(), kind)
		tokyo, err := data.Load("Asia/Tokyo")
		require.NoError(t, err, kind)
		_, offset := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).In(tokyo).Zone()
		assert.Equal(t, 2*60*60, offset, kind)
		assert.NotEqual(t, zonedata.Embedded().Digest(), data.Digest(), kind)
		assert.Equal(t, zonedata.Embedded().Fingerprint("Europe/Rome"), data.Fingerprint("Europe/Rome"), kind)
		if want == "" {
			want = data.Digest()
		}
		assert.Equal(t, want, data.Digest(), "both say the same")
	}
}

// TestOpenOfAPackage reads a directory as in distributions: with tables, other data and zones with leap seconds.
func TestOpenOfAPackage(t *testing.T) {
	t.Parallel()
	files := compiled(t)
	delete(files, zonedata.VersionEntry)
	files["tzdata.zi"] = []byte("# version 2027b\n# This zic input file is in the public domain.\n")
	files["zone.tab"] = []byte("# a table\n")
	files["right/Europe/Berlin"], files["posixrules"] = files["Asia/Tokyo"], files["Asia/Tokyo"]
	dir := unpacked(t, files)
	require.NoError(t, os.Symlink("/nowhere/at/all", filepath.Join(dir, "localtime")))
	data, err := zonedata.Open(dir)
	require.NoError(t, err)
	assert.Equal(t, "2027b", data.Version())
	assert.Equal(t, zonedata.Embedded().Digest(), data.Digest())
	assert.NotContains(t, data.Names(), "right/Europe/Berlin")
	assert.Equal(t, zonedata.Embedded().Names(), data.Names())
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	without := compiled(t)
	delete(without, "US/Eastern")
	broken := compiled(t)
	broken["Asia/Tokyo"] = []byte("TZif, and no more")
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("Europe/Berlin"), 0o600))
	unnamed := compiled(t)
	delete(unnamed, zonedata.VersionEntry)
	for path, want := range map[string]string{
		packed(t, without):          "lacks 1 time zones that schedules may use, such as US/Eastern",
		packed(t, broken):           "Asia/Tokyo is not a compiled time zone",
		unpacked(t, broken):         "Asia/Tokyo is not a compiled time zone",
		packed(t, nil):              "holds no time zones",
		t.TempDir():                 "holds no time zones",
		text:                        "is neither a zip file of compiled time zones nor a directory of them",
		filepath.Join(text, "lost"): "not a directory",
	} {
		_, err := zonedata.Open(path)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
		assert.NotContains(t, err.Error(), "\n")
	}
	data, err := zonedata.Open(packed(t, unnamed))
	require.NoError(t, err)
	assert.Equal(t, zonedata.Unknown, data.Version())
}
