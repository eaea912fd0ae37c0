package jobs

import (
	"cmp"
	"time"
)

// step is what a runner has to do about a job that it does not hold.
type step int

const (
	// leave: nothing, until the record changes.
	leave step = iota
	// wait: nothing, until a time.
	wait
	// claim: take it.
	claim
	// remove: delete the record.
	remove
)

// next decides what a runner has to do about a job now, and if it is to wait, until when. Able says whether it knows the kind.
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

// due is a step that is to be taken at a time.
func due(what step, at, now time.Time) (step, time.Time) {
	if now.Before(at) {
		return wait, at
	}
	return what, time.Time{}
}

// Times of a job that is held.
const (
	// saveEvery is how often what is settled is written down, at least.
	saveEvery = time.Second
	// renewEvery is how old a lease gets before it is renewed, if there is nothing else to write.
	renewEvery = Lease / 3
	// leaseMargin is how long before the end of its lease a runner that could not renew it stops.
	leaseMargin = Lease / 5
)

// mustSave says whether a runner has to write the record of a job it holds, of which something is unsaved or not.
func mustSave(j *Job, unsaved bool, now time.Time) bool {
	return unsaved || !now.Before(j.LeaseUntil.Add(renewEvery-Lease))
}

// mustStop says whether a runner can no longer count on holding a job.
func mustStop(j *Job, now time.Time) bool { return !now.Before(j.LeaseUntil.Add(-leaseMargin)) }

// Bounds of a page: what a crash may repeat, and how often the record is written.
const (
	minPage = 10
	maxPage = 500
)

// pageSize is how many items are made a page: about as many as a second takes.
func pageSize(rate int) int { return min(max(cmp.Or(rate, DefaultRate), minPage), maxPage) }
