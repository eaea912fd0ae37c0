package search

import (
	"cmp"
	"os"
	"path/filepath"
	"time"
)

const (
	temporaryPrefix = "carillon-search-"
	// abandonedAge is how old a temporary folder must be to be taken for abandoned: a new one may not be locked yet.
	abandonedAge = time.Minute
)

// makeTemporary makes a folder for an index that nobody keeps. Those of processes that were killed, which could not remove
// them, go first.
func makeTemporary(parent string, now time.Time) (string, error) {
	parent = cmp.Or(parent, os.TempDir())
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	left, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"*")) // the pattern is a good one
	for _, dir := range left {
		removeAbandoned(dir, now)
	}
	return os.MkdirTemp(parent, temporaryPrefix)
}

// removeAbandoned removes a folder that no process has. One that cannot be removed, as that of another user, stays.
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
