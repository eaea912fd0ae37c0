// Package progress says how far the closed executions of a namespace have been archived. The pool history removes a run of a namespace that asks for an
// archive only if this says that the run is safe.
//
// There is a record for each namespace and shard, and one for the events of the schedules of each namespace, in the cluster bucket. Only the role archival
// writes them.
//
// The package may import kv and subjects. It must never look into a journal, nor decide what is archived.
package progress

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// MaxLeft is how many runs may be left behind in one shard. If there are more, nothing behind them is archived.
const MaxLeft = 100

// Progress is how far the runs of a namespace in one shard have been archived. The zero value says that none has.
type Progress struct {
	// Archive is the URL of the bucket that this is about.
	Archive string `json:"archive,omitempty"`
	// Mark is the mark of that bucket. It is empty if it had none, or if a build has stored this that knew no marks.
	Mark string `json:"mark,omitempty"`
	// Through is the sequence in the journal stream up to which every run that has ended is safe, except those in Left.
	Through uint64 `json:"through"`
	// At is the newest time of the ends up to Through. A later end is not safe, whatever its sequence: the stream is another one, since a backup
	// has been restored.
	At   time.Time `json:"at,omitzero"`
	Left []Left    `json:"left,omitempty"`
}

// Left is a run that could not be archived for a reason of its own, and is tried again.
type Left struct {
	// End is the sequence of the entry with which the run ended.
	End        uint64 `json:"end"`
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
	// Since is when it was tried first, and Reason why the last attempt failed.
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// Reached reports whether everything has been tried up to an end with a sequence and a time.
func (p *Progress) Reached(end uint64, at time.Time) bool { return end <= p.Through && !at.After(p.At) }

// Of returns the progress for an archive: none, if this is about another one.
func (p Progress) Of(archive string) Progress {
	if p.Archive != archive {
		return Progress{Archive: archive}
	}
	return p
}

// IsOf reports whether this is about the bucket with a URL that has a mark.
func (p *Progress) IsOf(archive, mark string) bool { return p.Archive == archive && p.Mark == mark }

// Anew returns the progress with which another archive begins, or another stream: none. What was left behind stays so, since it may be
// nowhere else.
func (p *Progress) Anew(archive, mark string) Progress {
	return Progress{Archive: archive, Mark: mark, Left: p.Left}
}

// Waits reports whether a run of a workflow ID that ended at or before an entry is still to be archived.
func (p *Progress) Waits(workflowID string, end uint64) bool {
	for i := range p.Left {
		if p.Left[i].WorkflowID == workflowID && p.Left[i].End <= end {
			return true
		}
	}
	return false
}

// Safe reports whether all runs of a workflow ID that ended with an entry of a time, or before, are archived.
func (p *Progress) Safe(workflowID string, end uint64, at time.Time) bool {
	return p.Reached(end, at) && !p.Waits(workflowID, end)
}

// Records reads and writes the records. It is safe for concurrent use.
type Records struct{ cluster *kv.Cluster }

// NewRecords returns the records in a cluster bucket.
func NewRecords(cluster *kv.Cluster) *Records { return &Records{cluster} }

// Progress reads a record. One that nobody has written, or that cannot be read, says that nothing has been archived.
func (r *Records) Progress(ctx context.Context, namespace string, shard int) (Progress, error) {
	p, _, err := r.Get(ctx, namespace, shard)
	return p, err
}

// Get is Progress, with the revision of the record; 0 if there is none.
func (r *Records) Get(ctx context.Context, namespace string, shard int) (Progress, uint64, error) {
	return r.get(ctx, subjects.ArchivedKey(namespace, shard))
}

// Put writes a record that was last written at a revision; 0 means that there must be none. It returns the new revision. The error is kv.ErrConflict if
// the stored revision differs.
func (r *Records) Put(ctx context.Context, namespace string, shard int, p Progress, revision uint64) (uint64, error) {
	return kv.PutJSON(ctx, r.cluster, subjects.ArchivedKey(namespace, shard), &p, revision)
}

// GetEvents is Get for the events of the schedules of a namespace: Through is a sequence in their stream, and At the newest time up to there.
func (r *Records) GetEvents(ctx context.Context, namespace string) (Progress, uint64, error) {
	return r.get(ctx, subjects.ArchivedEventsKey(namespace))
}

// PutEvents is Put for the events of the schedules of a namespace.
func (r *Records) PutEvents(ctx context.Context, namespace string, p Progress, revision uint64) (uint64, error) {
	return kv.PutJSON(ctx, r.cluster, subjects.ArchivedEventsKey(namespace), &p, revision)
}

func (r *Records) get(ctx context.Context, key string) (Progress, uint64, error) {
	record, err := kv.GetJSON[Progress](ctx, r.cluster, key)
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrCorrupt) {
		return Progress{}, record.Revision, nil
	}
	return record.Value, record.Revision, err
}

// Status is what the process that archives says about itself, in the record subjects.KeyArchiver.
type Status struct {
	// Process is its ID; empty if no process archives.
	Process string `json:"process,omitempty"`
	// At is when it said that.
	At time.Time `json:"at,omitzero"`
	// Waiting are the namespaces whose bucket refuses objects, or whose executions cannot be read.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Left is how many runs were left behind, and Kept are some of them.
	Left int    `json:"left,omitempty"`
	Kept []Kept `json:"kept,omitempty"`
}

// MaxKept is how many runs a [Status] names that were left behind.
const MaxKept = 5

// Kept is a run that could not be archived, and that is kept until it is.
type Kept struct {
	Namespace string `json:"namespace"`
	Left
}

// Waiting is a namespace that cannot be archived.
type Waiting struct {
	Namespace string    `json:"namespace"`
	Since     time.Time `json:"since"`
	Reason    string    `json:"reason"`
}
