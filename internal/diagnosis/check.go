package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Status is how well something is.
type Status string

// The statuses, from good to bad.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failed  Status = "failed"
)

// Check is the result of one check.
type Check struct {
	// Name is one of a fixed set: "nats", "site", "installation", "storage", "replicas", "clock", "timers", "frontends", "search", "time zones",
	// "generator", "invoker", "backfiller", "history", "archive", "workers", "dead letters", "events" or "facts".
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail is what was found, Next what to do about it. Next is empty if all is well.
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
}

// The limits beyond which something is not well.
const (
	// skewWarning and skewFailed are for the difference between the clocks of this machine and of the servers. Due times follow
	// the clocks of Carillon's processes, delayed messages those of the servers.
	skewWarning = time.Second
	skewFailed  = 30 * time.Second
	// lagWarning and lagFailed are for how long the first task that nobody has received waits for its pool.
	lagWarning = time.Minute
	lagFailed  = 10 * time.Minute
	// unservedFailed is for how long a run waits on a task queue without a worker. Any such run is a warning.
	unservedFailed = 10 * time.Minute
	// storeWarning and storeFailed are fractions of a limit of the storage.
	storeWarning = 0.80
	storeFailed  = 0.95
	// silentWarning is for how long a mirror hears nothing of its origin. Each second there is a sign of life.
	silentWarning = time.Minute
)

// Checks judges facts, the most fundamental first. If NATS cannot be used, or there is no installation, it does not judge
// anything that depends on that.
func Checks(f *Facts) []Check {
	checks := []Check{checkNATS(f)}
	if checks[0].Status == Failed {
		return checks
	}
	if f.Site != nil {
		checks = append(checks, checkSite(f))
	}
	if f.isStandby() && f.Cluster == nil && f.Unreadable == "" {
		return checks // the check of the site says what is missing
	}
	checks = append(checks, checkInstallation(f))
	if f.Cluster == nil {
		return checks
	}
	checks = append(checks, checkStorage(f), checkReplicas(f), checkClock(f))
	if !f.isStandby() {
		checks = append(checks, checkTimers(f))
	}
	checks = append(checks, checkFrontends(f), checkSearch(f), checkZones(f))
	if !f.isStandby() {
		checks = append(checks, checkPools(f)...)
	}
	checks = append(checks, checkDeadLetters(f), checkHistory(f))
	if len(f.Problems) > 0 {
		checks = append(checks, Check{
			Name: "facts", Status: Warning, Detail: "not all could be found out: " + strings.Join(f.Problems, "; "),
			Next: "look again; if it stays so, see whether you may ask: deploy/nats/carillon.conf has an operator that may",
		})
	}
	return checks
}

// checkPools judges what has work to do.
func checkPools(f *Facts) (checks []Check) {
	for _, pool := range subjects.Pools() {
		checks = append(checks, checkPool(f, pool))
	}
	if f.Archive != nil {
		checks = append(checks, checkArchive(f))
	}
	return append(checks, checkWorkers(f))
}

// Worst returns the worst status of some checks.
func Worst(checks []Check) Status {
	worst := OK
	for i := range checks {
		if checks[i].Status == Failed || worst == OK {
			worst = checks[i].Status
		}
		if worst == Failed {
			break
		}
	}
	return worst
}

func ok(name, format string, args ...any) Check {
	return Check{Name: name, Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func notOK(name string, status Status, detail, next string) Check {
	return Check{Name: name, Status: status, Detail: detail, Next: next}
}

// counted returns "1 stream" or "5 streams".
func counted[N int | uint64 | int64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// fewest is the most names that a detail lists.
const fewest = 3

// listed returns some names, and how many others there are.
func listed(names []string) string {
	if len(names) <= fewest {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:fewest], ", "), len(names)-fewest)
}

// SizeText returns a number of bytes for users, such as "1.5 MB".
func SizeText(bytes int64) string {
	const unit = 1000
	switch {
	case bytes < unit:
		return fmt.Sprintf("%d B", bytes)
	case bytes < unit*unit:
		return fmt.Sprintf("%.1f kB", float64(bytes)/unit)
	case bytes < unit*unit*unit:
		return fmt.Sprintf("%.1f MB", float64(bytes)/unit/unit)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/unit/unit/unit)
}

// ageText returns how long ago something was, in whole seconds.
func ageText(now, then time.Time) string {
	age := max(now.Sub(then), 0)
	if age >= 48*time.Hour {
		return fmt.Sprintf("%d days", age/(24*time.Hour))
	}
	return age.Round(time.Second).String()
}
