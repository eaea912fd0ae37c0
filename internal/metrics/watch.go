package metrics

import (
	"fmt"
	"sync/atomic"

	"github.com/carillon-scheduler/carillon/schedule"
)

// MaxWatched is how many schedules may be watched at once.
const MaxWatched = 100

var watched atomic.Pointer[map[schedule.Key]struct{}]

// Watch gives some schedules series of their own: the instruments of [GroupWatched]. It replaces the schedules watched before;
// existing series stay until the process ends. More than [MaxWatched] are an error, and change nothing.
func Watch(keys []schedule.Key) error {
	if len(keys) > MaxWatched {
		return fmt.Errorf("metrics: %d schedules to watch, at most %d may be", len(keys), MaxWatched)
	}
	set := make(map[schedule.Key]struct{}, len(keys))
	for _, key := range keys {
		set[key] = struct{}{}
	}
	watched.Store(&set)
	return nil
}

// IsWatched reports whether a schedule has series of its own.
func IsWatched(key schedule.Key) bool {
	set := watched.Load()
	if set == nil {
		return false
	}
	_, is := (*set)[key]
	return is
}
