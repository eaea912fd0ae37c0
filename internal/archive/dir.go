package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"gocloud.dev/blob/fileblob"
)

// ErrFolder says that a folder is not there, or is not the one that was used before.
var ErrFolder = errors.New("archive: the folder cannot be used")

// Marks remembers the marks of folders. A folder without the mark that is remembered is another one: a disk that is not mounted leaves an empty folder, and
// what is written there is not in the archive. The implementation is safe for concurrent use.
type Marks interface {
	// Mark returns the mark of a folder, by its path; empty if none is remembered.
	Mark(ctx context.Context, folder string) (string, error)
	// Remember remembers a mark, unless another one is remembered, and returns the one that is.
	Remember(ctx context.Context, folder, mark string) (string, error)
}

// openDir opens a folder as a bucket. It must exist, and its mark be the one that is remembered.
func openDir(ctx context.Context, u *url.URL, marks Marks) (*Bucket, error) {
	if u.Host != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return nil, fmt.Errorf("archive: %q names no folder: use file:///PATH", u.Redacted())
	}
	dir := filepath.Clean(filepath.FromSlash(u.Path))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: there is no folder %s: make it, or mount it, for every process that archives", ErrFolder, dir)
	}
	check := func() error { return nil }
	if marks != nil {
		mark, err := marked(ctx, dir, marks)
		if err != nil {
			return nil, err
		}
		check = func() error { return isMarked(dir, mark) }
	}
	opened, err := fileblob.OpenBucket(dir, &fileblob.Options{DirFileMode: 0o750, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return nil, fmt.Errorf("archive: open %s: %w", dir, err)
	}
	b := New(opened, func(name string) error { return errors.Join(syncPath(dir, filepath.FromSlash(name)), check()) })
	b.check, b.readable = check, func(prefix string) error { return readDirs(dir, prefix) }
	return b, nil
}

// readDirs reads all folders that names behind a prefix may be in. The lists of fileblob leave out what they cannot read. A folder that does not exist has no
// names.
func readDirs(dir, prefix string) error {
	below := prefix[:strings.LastIndexByte(prefix, '/')+1]
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(below)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if err == nil && entry.IsDir() {
			err = readDirs(dir, below+entry.Name()+"/")
		}
	}
	return err
}

// marked returns the mark of a folder. It makes one if none is there and none is remembered.
func marked(ctx context.Context, dir string, marks Marks) (mark string, err error) {
	known, err := marks.Mark(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("archive: the mark of %s is not known: %w", dir, err)
	}
	found, err := readMark(dir)
	if err == nil && found == "" && known == "" {
		found, err = makeMark(dir)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if known == "" {
		if known, err = marks.Remember(ctx, dir, found); err != nil {
			return "", fmt.Errorf("archive: the mark of %s is not stored: %w", dir, err)
		}
	}
	return known, isMarked(dir, known)
}

// isMarked checks that a folder has a mark.
func isMarked(dir, mark string) error {
	found, err := readMark(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrFolder, err)
	case found == mark:
		return nil
	case found == "":
		return fmt.Errorf("%w: %s is not the folder that was used before: its file %s is missing. Mount that folder for every process that archives; "+
			"or, if this one has all of it, write %s into the file", ErrFolder, dir, markFile, mark)
	}
	return fmt.Errorf("%w: %s is not the folder that was used before: its file %s has another mark. Mount that folder for every process that archives; "+
		"or, if this one has all of it, write %s into the file", ErrFolder, dir, markFile, mark)
}

// readMark returns the mark of a folder; empty if it has none.
func readMark(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, markFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// makeMark gives a folder a mark, unless another process does, and returns it.
func makeMark(dir string) (string, error) {
	mark := uuid.NewString()
	file, err := os.OpenFile(filepath.Join(dir, markFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if errors.Is(err, os.ErrExist) {
		return readMark(dir)
	}
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(mark + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = syncPath(dir, markFile)
	}
	return mark, err
}

// syncPath makes a file durable, and the folders on the way to it. A file is not there after a loss of power unless its folder is.
func syncPath(dir, name string) (err error) {
	for path := name; ; path = filepath.Dir(path) {
		if failed := syncOne(filepath.Join(dir, path)); failed != nil {
			err = errors.Join(err, failed)
		}
		if path == "." {
			return err
		}
	}
}

func syncOne(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
