package jobs

import (
	"cmp"
	"time"
)

// step is what a runner must do about a job that it does not hold.
type step int

const (
	// leave: do nothing until the record changes.
	leave step = iota
	// wait: do nothing until a certain time.
	wait
	// claim: take the job.
	claim
	// remove: delete the record.
	remove
)

// next decides what a runner must do about a job now. For wait it also returns until when. able says whether the runner knows the
// kind of job.
func next(j *Job, now time.Time, able bool) (step, time.Time) {
	switch {
	case j.Ended():
		return due(remove, j.EndTime.Add(Retention), now)
	case !able:
		return leave, time.Time{}
	case j.Owner == "":
		return due(claim, j.NotBefore, now)
	}
	return due(claim, j.LeaseUntil, now)
}

// due returns the step to take at a time.
func due(what step, at, now time.Time) (step, time.Time) {
	if now.Before(at) {
		return wait, at
	}
	return what, time.Time{}
}

// Times of a job in progress.
const (
	// saveEvery is how often settled items are recorded, at least.
	saveEvery = time.Second
	// renewEvery is the age at which a lease is renewed if there is nothing else to write.
	renewEvery = Lease / 3
	// leaseMargin is how long before the end of its lease a runner stops if it could not renew it.
	leaseMargin = Lease / 5
)

// mustSave reports whether a runner must write the record of a job it holds. unsaved says whether the record lacks something.
func mustSave(j *Job, unsaved bool, now time.Time) bool {
	return unsaved || !now.Before(j.LeaseUntil.Add(renewEvery-Lease))
}

// mustStop reports whether a runner can no longer count on holding a job.
func mustStop(j *Job, now time.Time) bool { return !now.Before(j.LeaseUntil.Add(-leaseMargin)) }

// Bounds of a page. Its size limits what a crash may repeat, and how often the record is written.
const (
	minPage = 10
	maxPage = 500
)

// pageSize is how many items make a page: about as many as one second takes.
func pageSize(rate int) int { return min(max(cmp.Or(rate, DefaultRate), minPage), maxPage) }
