package archive

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"gocloud.dev/blob/fileblob"
)

// openDir opens a folder as a bucket. It is made if it does not exist.
func openDir(u *url.URL) (*Bucket, error) {
	if u.Host != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return nil, fmt.Errorf("archive: %q names no folder: use file:///PATH", u.Redacted())
	}
	dir := filepath.FromSlash(u.Path)
	opened, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o750, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("archive: open %s: %w", dir, err)
	}
	return New(opened, func(name string) error { return syncPath(dir, filepath.FromSlash(name)) }), nil
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
