package search

import (
	"cmp"
	"os"
	"path/filepath"
	"time"
)

const (
	temporaryPrefix = "carillon-search-"
	// abandonedAge is the age from which a temporary folder counts as abandoned: a new one may not be locked yet.
	abandonedAge = time.Minute
)

// makeTemporary makes a folder for an index that is not kept. It first removes the folders of processes that were killed, which
// could not remove them.
func makeTemporary(parent string, now time.Time) (string, error) {
	parent = cmp.Or(parent, os.TempDir())
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	left, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"*")) // the pattern is valid
	for _, dir := range left {
		removeAbandoned(dir, now)
	}
	return os.MkdirTemp(parent, temporaryPrefix)
}

// removeAbandoned removes a folder that no process uses. One that cannot be removed, such as another user's, stays.
func removeAbandoned(dir string, now time.Time) {
	lock := lockOf(dir)
	info, err := os.Stat(lock.Path())
	if err != nil || now.Sub(info.ModTime()) < abandonedAge {
		return
	}
	if free, err := lock.TryLock(); err == nil && free {
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}
