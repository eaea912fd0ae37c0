package jobs

import (
	"encoding/json"
	"slices"
	"time"
)

// Limits of jobs.
const (
	// DefaultRate is how many items of a job are begun in a second where it does not say.
	DefaultRate = 100
	// MaxRate is the largest rate.
	MaxRate = 10_000
	// MaxFailures is how many failures a record keeps, the newest.
	MaxFailures = 100
	// maxReason is how many bytes of the reason of a failure are kept.
	maxReason = 512
	// Lease is how long a runner may be silent about a job before another takes it.
	Lease = 15 * time.Second
	// Retention is how long the record of a job that has ended is kept.
	Retention = 7 * 24 * time.Hour
)

// Status says where a job stands.
type Status string

// The statuses of a job.
const (
	// Running: there is more to do, whether a runner is at it or not.
	Running Status = "running"
	// Done: everything has been settled; items may have failed.
	Done Status = "done"
	// Canceled: somebody has ended it.
	Canceled Status = "canceled"
	// Failed: it could not go on. Error says why.
	Failed Status = "failed"
)

// Job is the record of a job. Who makes one sets the first part; the rest belongs to [Create], [Cancel] and the runners.
type Job struct {
	Namespace string `json:"namespace"`
	// ID is one token of a subject, unique in the namespace.
	ID string `json:"id"`
	// Kind says whose [Work] it is, Parameters what that is to do.
	Kind       string          `json:"kind"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Identity is who asks, as far as that is known.
	Identity   string    `json:"identity,omitempty"`
	CreateTime time.Time `json:"createTime"`
	// NotBefore is when the work may begin; zero for at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Rate is how many items are begun in a second, 1 to [MaxRate]; 0 means [DefaultRate].
	Rate int `json:"rate,omitempty"`
	// Total is how many items there seemed to be when the job was made; -1 if that is not known.
	Total int `json:"total"`

	Status Status `json:"status"`
	// Cursor is the last ID that has been made part of a page: what comes after it has not been looked at. Page are those up to
	// it that are not settled yet, in order.
	Cursor string   `json:"cursor,omitempty"`
	Page   []string `json:"page,omitempty"`
	// Walked says that nothing comes after Cursor.
	Walked bool `json:"walked,omitempty"`
	// Done, Skipped and Failed count the settled items.
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// Failures are the newest failures, at most [MaxFailures], oldest first.
	Failures  []Failure `json:"failures,omitempty"`
	StartTime time.Time `json:"startTime,omitzero"`
	EndTime   time.Time `json:"endTime,omitzero"`
	// CanceledBy is who has canceled it, Error why it could not go on.
	CanceledBy string `json:"canceledBy,omitempty"`
	Error      string `json:"error,omitempty"`

	// Owner is the runner that holds the job, until LeaseUntil by its clock; empty if none does. Term counts how often the
	// job has been taken, and tells one hold from the next.
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
	// ItemSkipped: there was nothing to do about it.
	ItemSkipped Result = "skipped"
	// ItemFailed: it cannot be done.
	ItemFailed Result = "failed"
)

// Outcome is what became of an item. Reason is for people, one line; a failure needs one.
type Outcome struct {
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

// release makes the job one that nobody holds.
func (j *Job) release() { j.Owner, j.LeaseUntil = "", time.Time{} }

// turn begins the next page, which is the end of the walk if it is empty. The page before must be settled.
func (j *Job) turn(ids []string) {
	j.Page = ids
	if len(ids) == 0 {
		j.Walked = true
		return
	}
	j.Cursor = ids[len(ids)-1]
}

// settle counts an item of the page, once.
func (j *Job) settle(id string, outcome Outcome) {
	i := slices.Index(j.Page, id)
	if i < 0 {
		return
	}
	j.Page = slices.Concat(j.Page[:i], j.Page[i+1:]) // the page as it was may be being worked on
	switch outcome.Result {
	case ItemDone:
		j.Done++
	case ItemSkipped:
		j.Skipped++
	case ItemFailed:
		j.Failed++
		failures := append(slices.Clone(j.Failures), Failure{ID: id, Reason: cut(outcome.Reason)})
		j.Failures = failures[max(0, len(failures)-MaxFailures):]
	}
}

func (j *Job) end(status Status, now time.Time) {
	j.Status, j.EndTime = status, now
	j.release()
}

// adopt takes over what others may change of a job while a runner holds it: that it is canceled. It reports false if another
// has taken it. A write of the runner's own, whose answer was lost, is no reason to give up.
func (j *Job) adopt(stored *Job) bool {
	if stored.Term != j.Term {
		return false
	}
	if stored.Status == Canceled {
		j.Status, j.EndTime, j.CanceledBy = stored.Status, stored.EndTime, stored.CanceledBy
	}
	return true
}

// cut returns the beginning of a reason.
func cut(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	end := maxReason
	for end > 0 && reason[end]&0xC0 == 0x80 { // half a character
		end--
	}
	return reason[:end] + "…"
}
