package execution

import (
	"cmp"
	"slices"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// A run that is deleted is gone for everybody with the entry that says so. Its other entries are removed afterwards, and those who do that need the
// entry: so it stays, and stands for the run if that was the newest one. Runs that have ended for long are removed without an entry.

// Delete removes a run, and ends it first if it is in progress. The reply is a *workflowservice.DeleteWorkflowExecutionResponse. The error is NotFound
// if there is no such run.
type Delete struct {
	// RunID is the run; empty for the newest one. Whoever asks has made sure that the journal has a run with the ID, if it is not the newest one.
	RunID string
}

func (Delete) cause() string { return "delete" }

func (in Delete) decide(tx *transition) (proto.Message, error) {
	newest := tx.before.Run
	if newest == nil || newest.Deleted(cmp.Or(in.RunID, newest.ID)) {
		return nil, notFound(tx.before.Key.WorkflowID)
	}
	switch {
	case tx.run == nil: // the newest run has been deleted, and the entry stands for it again
		tx.run = newest.clone()
		tx.part = tx.run.stone()
		tx.part.Removed = append(tx.part.Removed, in.RunID)
	case in.RunID != "" && in.RunID != tx.run.ID:
		tx.run.remove(in.RunID)
		tx.part.Removed, tx.part.Ended = []string{in.RunID}, !tx.run.Open()
	default:
		if tx.run.Open() {
			tx.terminate("Delete workflow execution", nil, "history-service")
		}
		tx.part.remember(tx.run)
		tx.part.Removed = append(tx.part.Removed, tx.run.ID)
	}
	return &workflowservice.DeleteWorkflowExecutionResponse{}, nil
}

// mostRemoved is how many deleted runs of a workflow ID are remembered. After the next run has begun, that matters only as long as entries of one are kept
// because another run needs them.
const mostRemoved = 64

func (r *Run) remove(runID string) {
	all := append(slices.Clone(r.Removed), runID)
	r.Removed = all[max(len(all)-mostRemoved, 0):]
}

// Deleted reports whether a run of the workflow ID, perhaps this one, has been deleted. Nil knows of none.
func (r *Run) Deleted(runID string) bool { return r != nil && slices.Contains(r.Removed, runID) }

// gone reports whether the run has been deleted.
func (r *Run) gone() bool { return r.Deleted(r.ID) }

// stone is a part that says what is to be known of the run if it has been deleted.
func (r *Run) stone() *Part {
	part := &Part{RunID: r.ID, First: r.First}
	part.remember(r)
	return part
}

// remember notes in a part what a run knows of its workflow ID, so that others need not ask the run.
func (p *Part) remember(r *Run) {
	p.Earlier, p.Removed, p.Needs, p.Resets = r.earlier(), slices.Clone(r.Removed), r.needs(), r.Resets
}

// recall takes over what a part remembers.
func (r *Run) recall(p *Part) {
	r.Earlier, r.Removed, r.Needs, r.Resets = p.Earlier, p.Removed, p.Needs, p.Resets
}

// gone reports whether the part deletes its own run.
func (p *Part) gone() bool { return slices.Contains(p.Removed, p.RunID) }

// goneRun is what is left of a run.
func goneRun(part *Part) *Run {
	run := newRun(part.RunID)
	run.Status, run.First = 0, part.First
	run.recall(part)
	return run
}

// Lost is the state of a journal that has lost the first entries of its newest run, which has ended: it was removed, or that is in progress. To all but
// those who remove it, the run is gone.
func Lost(key Key, last *Entry, sequence uint64) *State {
	part := last.Parts[len(last.Parts)-1]
	part.Removed = []string{part.RunID}
	return &State{Key: key, Sequence: sequence, Run: goneRun(&part)}
}

// Gone reports whether the entry stands for a run that has been deleted.
func (e *Entry) Gone() bool { return e.Parts[len(e.Parts)-1].gone() }

// Over reports whether the newest run has certainly ended, by the last entry of its journal alone.
func (e *Entry) Over() bool {
	newest := &e.Parts[len(e.Parts)-1]
	return newest.end() != nil || newest.Ended || newest.gone()
}

// Need says that a run has events that earlier runs wrote.
type Need struct {
	// By is the sequence of the entry with which the run begins; zero in the run itself.
	By uint64 `json:"by,omitempty"`
	// From is the sequence of the first entry that it needs.
	From uint64 `json:"from"`
}

// mostNeeds is how many needs are remembered one by one.
const mostNeeds = 32

// needs are those of a run and of the ones before it, for the next run.
func (r *Run) needs() []Need {
	if r == nil || len(r.Needs) == 0 {
		return nil
	}
	all := slices.Clone(r.Needs)
	for i := range all {
		all[i].By = cmp.Or(all[i].By, r.First)
	}
	for len(all) > mostNeeds {
		all[1] = Need{all[1].By, min(all[0].From, all[1].From)}
		all = all[1:]
	}
	return all
}

// Uses reports whether a run that begins with the entry with the sequence from, or later, needs an entry before that: one that a run of a reset has its
// first events from.
func (r *Run) Uses(entry, from uint64) bool { return uses(r.Needs, r.First, entry, from) }

// Uses is [Run.Uses] for the run that begins with a part of the entry with the sequence first.
func (p *Part) Uses(first, entry, from uint64) bool { return uses(p.Needs, first, entry, from) }

func uses(needs []Need, first, entry, from uint64) bool {
	return slices.ContainsFunc(needs, func(n Need) bool {
		by := cmp.Or(n.By, first)
		return by >= from && n.From <= entry && entry < by
	})
}

// carry lets the run that has just begun know what the one before it knows of the workflow ID.
func (tx *transition) carry(before *Run) {
	if before == nil {
		return
	}
	tx.part.remember(before)
	tx.run.recall(tx.part)
}

// previous is the newest run, deleted or not; nil if there is none.
func (tx *transition) previous() *Run {
	if tx.run == nil {
		return tx.before.Run
	}
	return tx.run
}
