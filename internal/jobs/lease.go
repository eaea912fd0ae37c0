package jobs

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/kv"
)

// lastWrites is how many attempts are made to give a job back.
const lastWrites = 3

// keep writes the record if that is due, which renews the lease.
func (a *attempt) keep() error {
	now := a.now()
	if mustStop(&a.job, now) {
		a.lose("it could not be renewed")
		return nil
	}
	if a.lost || !mustSave(&a.job, a.unsaved, now) {
		return nil
	}
	err := a.save(func(job *Job) { job.renew(a.now()) })
	if err != nil {
		a.log.WarnContext(a.going, "progress of a job not written, will try again", "error", err)
	}
	if a.job.Ended() {
		a.stop()
	}
	return err
}

// save writes the record with one more change, which is kept only if the write succeeds.
func (a *attempt) save(change func(*Job)) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout) //permit:context.Background written after an abort too
	defer cancel()
	for {
		job := a.job
		change(&job)
		revision, err := a.store.write(ctx, &job, a.revision)
		if err == nil {
			a.job, a.revision, a.unsaved = job, revision, false
			return nil
		}
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
		if err := a.lookAgain(ctx); err != nil || a.lost {
			return err
		}
	}
}

// lookAgain finds out what another process has written.
func (a *attempt) lookAgain(ctx context.Context) error {
	stored, revision, err := a.store.read(ctx, a.job.Namespace, a.job.ID)
	switch {
	case errors.Is(err, ErrNone):
		a.lose("its record is gone")
		return nil
	case err != nil:
		return err
	}
	if !a.job.adopt(&stored) {
		a.lose("another has taken it")
		return nil
	}
	a.revision = revision
	return nil
}

// lose ends the attempt at once: the job belongs to another runner, and so does whatever this attempt would still write or do.
func (a *attempt) lose(why string) {
	if !a.lost {
		a.log.WarnContext(a.going, "let go of a job", "reason", why)
	}
	a.lost = true
	a.abort()
}

// letGo records the end of the job, or its progress, so that another runner can continue at once.
func (a *attempt) letGo() {
	for range lastWrites {
		if a.lost {
			return
		}
		err := a.save((*Job).release)
		if err == nil {
			a.log.Info("done with a job", "status", a.job.Status, "done", a.job.Done, "skipped", a.job.Skipped, "failed", a.job.Failed)
			return
		}
		a.log.Warn("job not given back", "error", err)
	}
}
