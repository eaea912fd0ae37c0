package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskSize is the size of a disk that is not full, in bytes. The disk takes memory only for its contents.
const diskSize = 4 << 30

// disk is a file system in memory.
type disk struct{ dir string }

// mountDisk mounts an empty disk on a folder, which it makes.
func mountDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d := &disk{dir}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		return nil, os.NewSyscallError("mount", err)
	}
	return d, nil
}

// fillAttempts is how often fill tries to make the disk as small as its contents, which grow meanwhile.
const fillAttempts = 1000

// fill leaves no room.
func (d *disk) fill() (err error) {
	for range fillAttempts {
		var stat syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &stat); err != nil {
			return os.NewSyscallError("statfs", err)
		}
		if err = d.resize(int64(stat.Blocks-stat.Bfree) * stat.Bsize); !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return err
}

// free makes room again.
func (d *disk) free() error { return d.resize(diskSize) }

func (d *disk) resize(size int64) error {
	return os.NewSyscallError("mount", syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size)))
}

// unmount keeps the contents of the disk in the folder, and removes the disk.
func (d *disk) unmount() {
	kept := d.dir + ".kept"
	err := os.CopyFS(kept, os.DirFS(d.dir))
	_ = syscall.Unmount(d.dir, syscall.MNT_DETACH) // nobody uses it any more
	if err == nil && os.Remove(d.dir) == nil {
		_ = os.Rename(kept, filepath.Clean(d.dir)) // if that fails, the copy still exists
	}
}
