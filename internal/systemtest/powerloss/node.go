//go:build linux

package powerloss

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or folder. Every operation happens in the written copy; operations on names happen in the synced copy as well.
type node struct {
	*fs.LoopbackNode
	disk *Disk
}

func (d *Disk) wrap(inner fs.InodeEmbedder) *node { return &node{inner.(*fs.LoopbackNode), d} }

// WrapChild makes nodes of this kind below this one.
func (n *node) WrapChild(_ context.Context, inner fs.InodeEmbedder) fs.InodeEmbedder {
	return n.disk.wrap(inner)
}

var (
	_ fs.NodeWrapChilder    = (*node)(nil)
	_ fs.NodeOpener         = (*node)(nil)
	_ fs.NodeCreater        = (*node)(nil)
	_ fs.NodeMkdirer        = (*node)(nil)
	_ fs.NodeRmdirer        = (*node)(nil)
	_ fs.NodeUnlinker       = (*node)(nil)
	_ fs.NodeRenamer        = (*node)(nil)
	_ fs.NodeLinker         = (*node)(nil)
	_ fs.NodeSymlinker      = (*node)(nil)
	_ fs.NodeCopyFileRanger = (*node)(nil)
	_ fs.NodeSetattrer      = (*node)(nil)
)

// at is the path of the node, or of its entry with a name.
func (n *node) at(name string) string { return filepath.Join(n.Path(n.Root()), name) }

// also repeats in the synced copy what has been done in the written one.
func (n *node) also(errno syscall.Errno, do func(synced string) error) syscall.Errno {
	if errno != 0 {
		return errno
	}
	return fs.ToErrno(do(n.disk.synced))
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	inner, fuseFlags, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return n.handle(inner, n.at(""), flags), fuseFlags, 0
}

func (n *node) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.disk.room(); errno != 0 {
		return nil, nil, 0, errno
	}
	inode, inner, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	errno = n.also(errno, func(synced string) error {
		file, err := os.OpenFile(filepath.Join(synced, n.at(name)), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return file.Close()
	})
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return inode, n.handle(inner, n.at(name), flags), fuseFlags, 0
}

func (n *node) handle(inner fs.FileHandle, path string, flags uint32) fs.FileHandle {
	return &handle{
		LoopbackFile: inner.(*fs.LoopbackFile), disk: n.disk, file: n.disk.at(path), always: flags&syscall.O_SYNC == syscall.O_SYNC,
	}
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.disk.room(); errno != 0 {
		return nil, errno
	}
	inode, errno := n.LoopbackNode.Mkdir(ctx, name, mode, out)
	return inode, n.also(errno, func(synced string) error { return os.Mkdir(filepath.Join(synced, n.at(name)), 0o700) })
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	path := n.at(name)
	return n.also(n.LoopbackNode.Rmdir(ctx, name), func(synced string) error { return os.Remove(filepath.Join(synced, path)) })
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	path := n.at(name)
	return n.also(n.LoopbackNode.Unlink(ctx, name), func(synced string) error {
		n.disk.moved(path, "")
		return os.Remove(filepath.Join(synced, path))
	})
}

func (n *node) Rename(
	ctx context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32,
) syscall.Errno {
	from, to := n.at(name), parent.(*node).at(newName)
	return n.also(n.LoopbackNode.Rename(ctx, name, parent, newName, flags), func(synced string) error {
		n.disk.moved(from, to)
		return os.Rename(filepath.Join(synced, from), filepath.Join(synced, to))
	})
}

// Setattr cuts a file in the written copy. The cut part is still there after a power loss, until a sync.
func (n *node) Setattr(
	ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut,
) syscall.Errno {
	if h, ok := f.(*handle); ok {
		return n.LoopbackNode.Setattr(ctx, h.LoopbackFile, in, out)
	}
	return n.LoopbackNode.Setattr(ctx, f, in, out)
}

// Operations that nobody here needs are refused, rather than done in only one of the copies.

func (n *node) Link(context.Context, fs.InodeEmbedder, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.ENOTSUP
}

func (n *node) Symlink(context.Context, string, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.ENOTSUP
}

func (n *node) CopyFileRange(
	context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64,
) (uint32, syscall.Errno) {
	return 0, syscall.ENOTSUP
}

// handle is an open file.
type handle struct {
	*fs.LoopbackFile
	disk   *Disk
	file   *file
	always bool // every write is synced
}

var (
	_ fs.FileWriter  = (*handle)(nil)
	_ fs.FileFsyncer = (*handle)(nil)
)

func (h *handle) Write(ctx context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	if errno := h.disk.room(); errno != 0 {
		return 0, errno
	}
	n, errno := h.LoopbackFile.Write(ctx, data, offset)
	if errno != 0 {
		return n, errno
	}
	return n, h.wrote(offset, int64(n))
}

func (h *handle) Writev(ctx context.Context, data [][]byte, offset int64) (uint32, syscall.Errno) {
	if errno := h.disk.room(); errno != 0 {
		return 0, errno
	}
	n, errno := h.LoopbackFile.Writev(ctx, data, offset)
	if errno != 0 {
		return n, errno
	}
	return n, h.wrote(offset, int64(n))
}

func (h *handle) wrote(offset, length int64) syscall.Errno {
	if h.always {
		return fs.ToErrno(h.disk.sync(h.file, span{offset, offset + length}))
	}
	h.file.write(offset, offset+length)
	return 0
}

func (h *handle) Fsync(context.Context, uint32) syscall.Errno { return fs.ToErrno(h.disk.sync(h.file)) }

// PassthroughFd keeps the kernel from bypassing this file system.
func (h *handle) PassthroughFd() (int, bool) { return 0, false }
