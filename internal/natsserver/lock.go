package natsserver

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/carillon-scheduler/carillon/schedule"
)

// lockFile keeps a second server out of a data folder. The kernel holds the lock, and the existence of the file means nothing. So
// the lock ends with the process that held it, however that ended.
const lockFile = "carillon.lock"

// lockDir creates the data folder if necessary and takes its lock.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, schedule.Invalid("data", "the folder cannot be created: %v", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("natsserver: lock data folder %s: %w", dir, err)
	}
	if !locked {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition,
			"data folder %s is in use by another server: stop that one, or choose another folder with --data", dir)
	}
	return lock, nil
}
