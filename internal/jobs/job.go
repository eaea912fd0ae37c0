package jobs

import (
	"encoding/json"
	"slices"
	"time"
)

// Limits of jobs.
const (
	// DefaultRate is how many items per second are begun if a job does not say.
	DefaultRate = 100
	// MaxRate is the largest rate.
	MaxRate = 10_000
	// MaxFailures is how many failures a record keeps: the newest ones.
	MaxFailures = 100
	// maxReason is how many bytes of a failure's reason are kept.
	maxReason = 512
	// Lease is how long a runner may be silent about a job before another takes it.
	Lease = 15 * time.Second
	// Retention is how long the record of an ended job is kept.
	Retention = 7 * 24 * time.Hour
)

// Status is the state of a job.
type Status string

// The statuses of a job.
const (
	// Running: there is more to do, whether or not a runner is working on it.
	Running Status = "running"
	// Done: everything has been settled. Items may have failed.
	Done Status = "done"
	// Canceled: somebody has ended the job.
	Canceled Status = "canceled"
	// Failed: the job could not go on. Error says why.
	Failed Status = "failed"
)

// Job is the record of a job. Its creator sets the first part; the rest belongs to [Create], [Cancel] and the runners.
type Job struct {
	Namespace string `json:"namespace"`
	// ID is one token of a subject, unique in the namespace.
	ID string `json:"id"`
	// Kind says which [Work] does the job; Parameters are for that Work.
	Kind       string          `json:"kind"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Identity is who asked for the job, as far as that is known.
	Identity   string    `json:"identity,omitempty"`
	CreateTime time.Time `json:"createTime"`
	// NotBefore is when the work may begin; zero means at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Rate is how many items per second are begun, 1 to [MaxRate]; 0 means [DefaultRate].
	Rate int `json:"rate,omitempty"`
	// Total is how many items there seemed to be when the job was created; -1 if that is not known.
	Total int `json:"total"`

	Status Status `json:"status"`
	// Cursor is the last ID that has been part of a page; what comes after it has not been looked at. Page has the IDs up to
	// Cursor that are not settled yet, in order.
	Cursor string   `json:"cursor,omitempty"`
	Page   []string `json:"page,omitempty"`
	// Walked means that nothing comes after Cursor.
	Walked bool `json:"walked,omitempty"`
	// Done, Skipped and Failed count the settled items.
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// Failures are the newest failures, at most [MaxFailures], oldest first.
	Failures  []Failure `json:"failures,omitempty"`
	StartTime time.Time `json:"startTime,omitzero"`
	EndTime   time.Time `json:"endTime,omitzero"`
	// CanceledBy is who canceled the job; Error is why it could not go on.
	CanceledBy string `json:"canceledBy,omitempty"`
	Error      string `json:"error,omitempty"`

	// Owner is the runner that holds the job, until LeaseUntil by that runner's clock; empty if none does. Term counts how often
	// the job has been taken, and so distinguishes one hold from the next.
	Owner      string    `json:"owner,omitempty"`
	Term       int       `json:"term,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
}

// Failure is an item that could not be done.
type Failure struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Result says how an item was settled.
type Result string

// The results of an item.
const (
	// ItemDone: it was done, now or by an earlier attempt.
	ItemDone Result = "done"
	// ItemSkipped: there was nothing to do.
	ItemSkipped Result = "skipped"
	// ItemFailed: it cannot be done.
	ItemFailed Result = "failed"
)

// ItemResult is the result of an item. Reason is one line for people; a failure needs one.
type ItemResult struct {
	Result Result
	Reason string
}

// Ended reports whether nothing more will be done.
func (j *Job) Ended() bool { return j.Status != Running }

// claim gives the job to a runner.
func (j *Job) claim(owner string, now time.Time) {
	j.Owner, j.Term = owner, j.Term+1
	if j.StartTime.IsZero() {
		j.StartTime = now
	}
	j.renew(now)
}

func (j *Job) renew(now time.Time) { j.LeaseUntil = now.Add(Lease) }

// release ends the hold on the job.
func (j *Job) release() { j.Owner, j.LeaseUntil = "", time.Time{} }

// turn begins the next page. An empty page ends the walk. The page before must be settled.
func (j *Job) turn(ids []string) {
	j.Page = ids
	if len(ids) == 0 {
		j.Walked = true
		return
	}
	j.Cursor = ids[len(ids)-1]
}

// settle counts an item of the page, once.
func (j *Job) settle(id string, result ItemResult) {
	i := slices.Index(j.Page, id)
	if i < 0 {
		return
	}
	j.Page = slices.Concat(j.Page[:i], j.Page[i+1:]) // a copy: the previous page may still be in use
	switch result.Result {
	case ItemDone:
		j.Done++
	case ItemSkipped:
		j.Skipped++
	case ItemFailed:
		j.Failed++
		failures := append(slices.Clone(j.Failures), Failure{ID: id, Reason: cut(result.Reason)})
		j.Failures = failures[max(0, len(failures)-MaxFailures):]
	}
}

func (j *Job) end(status Status, now time.Time) {
	j.Status, j.EndTime = status, now
	j.release()
}

// adopt takes over the one thing that others may change while a runner holds the job: its cancellation. It returns false if
// another runner has taken the job. Finding a write of the runner itself, whose answer was lost, is no reason to give up.
func (j *Job) adopt(stored *Job) bool {
	if stored.Term != j.Term {
		return false
	}
	if stored.Status == Canceled {
		j.Status, j.EndTime, j.CanceledBy = stored.Status, stored.EndTime, stored.CanceledBy
	}
	return true
}

// cut shortens a reason to its beginning.
func cut(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	end := maxReason
	for end > 0 && reason[end]&0xC0 == 0x80 { // in the middle of a character
		end--
	}
	return reason[:end] + "…"
}
