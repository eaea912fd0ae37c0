//go:build linux

package powerloss

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// Disk is a mounted file system. It is made by [New] and safe for concurrent use.
type Disk struct {
	// Dir is where it is mounted.
	Dir string

	written, synced string
	server          *fuse.Server

	mu    sync.Mutex
	dirty map[string]*file // by path

	full atomic.Bool
}

// New mounts an empty disk until the test ends. A test that may not mount is skipped.
func New(t testing.TB) *Disk {
	t.Helper()
	base := t.TempDir()
	d := &Disk{
		Dir: filepath.Join(base, "disk"), written: filepath.Join(base, "written"), synced: filepath.Join(base, "synced"),
		dirty: map[string]*file{},
	}
	for _, dir := range []string{d.Dir, d.written, d.synced} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	root, err := fs.NewLoopbackRoot(d.written)
	require.NoError(t, err)
	server, err := fs.Mount(d.Dir, d.wrap(root), &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true, FsName: "powerloss"}})
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		t.Skipf("cannot mount: %v", err)
	}
	require.NoError(t, err)
	d.server = server
	t.Cleanup(func() { _ = d.server.Unmount() }) // it is unmounted already if the power was cut
	return d
}

// Cut is the loss of power: it ends the file system and returns a folder with everything that had been synced. Nobody may have
// a file open any more.
func (d *Disk) Cut(t testing.TB) (dir string) {
	t.Helper()
	require.NoError(t, d.server.Unmount())
	d.server.Wait()
	return d.synced
}

// Fill leaves no room on the disk until Free is called. Meanwhile each write fails, and so does making a file or folder.
func (d *Disk) Fill() { d.full.Store(true) }

// Free ends what Fill has begun.
func (d *Disk) Free() { d.full.Store(false) }

// room is the error of an operation that needs room.
func (d *Disk) room() syscall.Errno {
	if d.full.Load() {
		return syscall.ENOSPC
	}
	return 0
}

// file is the state of the writes to one file.
type file struct {
	mu    sync.Mutex
	path  string
	spans []span // written and not synced
}

type span struct{ from, to int64 }

// at returns the file of a path.
func (d *Disk) at(path string) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirty[path] == nil {
		d.dirty[path] = &file{path: path}
	}
	return d.dirty[path]
}

// moved follows a rename, and a removal, to the empty path.
func (d *Disk) moved(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.dirty[from]
	delete(d.dirty, from)
	delete(d.dirty, to)
	if f == nil {
		return
	}
	f.mu.Lock()
	f.path = to
	f.mu.Unlock()
	if to != "" {
		d.dirty[to] = f
	}
}

// write notes a write.
func (f *file) write(from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spans = append(f.spans, span{from, to})
}

// sync copies what has been written.
func (d *Disk) sync(f *file, spans ...span) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	whole := len(spans) == 0
	if whole {
		spans, f.spans = f.spans, nil
	}
	if f.path == "" {
		return nil // removed while it was open
	}
	from, err := os.Open(filepath.Join(d.written, f.path))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := os.OpenFile(filepath.Join(d.synced, f.path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = copySpans(from, to, spans, whole)
	return errors.Join(err, to.Close())
}

func copySpans(from, to *os.File, spans []span, whole bool) error {
	for _, s := range spans {
		data := make([]byte, s.to-s.from)
		n, err := from.ReadAt(data, s.from)
		if n == 0 && err != nil {
			continue // cut off since
		}
		if _, err := to.WriteAt(data[:n], s.from); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	info, err := from.Stat()
	if err != nil {
		return err
	}
	return to.Truncate(info.Size())
}
