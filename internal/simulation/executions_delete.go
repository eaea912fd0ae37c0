package simulation

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Clients delete runs of workflows, and in some plans the namespace keeps ended runs for so short a time that most of them expire while things
// still go wrong. The other checks know what was ever written. These compare it with what is stored: a run that was deleted or has expired goes
// with all its entries, and no entry goes that another run needs.

// expire lets runs expire. The plan goes on for longer than it takes to remove the first ones.
func (p *Plan) expire(rng *rand.Rand) {
	p.Retention = between(rng, time.Second, 20*time.Second).Truncate(time.Millisecond)
	p.Duration += p.Retention + 75*time.Second
}

// delete deletes a run: the newest one, whichever that is, or a certain one. Nobody sees that one again, and the client tries that. The text is the
// certain run; empty if there is none.
func (n *node) delete(ctx context.Context, op *operation) (text string, err error) {
	dice := diceFor(op.name)
	of := &commonpb.WorkflowExecution{WorkflowId: op.id}
	if dice.IntN(3) > 0 {
		if of, err = n.someRun(ctx, op.id, dice); err != nil {
			return "", err
		}
	}
	request := &workflowservice.DeleteWorkflowExecutionRequest{Namespace: namespace, WorkflowExecution: of}
	err = n.insist(ctx, op.verb, op.id, request, nil, drainLimit)
	if err != nil || of.GetRunId() == "" {
		return of.GetRunId(), err
	}
	for range 3 {
		if err := sleep.For(ctx, between(dice, 0, 10*time.Second)); err != nil {
			return "", err
		}
		n.requireGone(ctx, request)
	}
	return of.GetRunId(), nil
}

// deleteChildren deletes the children that a workflow has started. A run that a reset begins afterwards may wait for them.
func (n *node) deleteChildren(ctx context.Context, events []*historypb.HistoryEvent) {
	for _, event := range events {
		child := event.GetChildWorkflowExecutionStartedEventAttributes().GetWorkflowExecution()
		if child == nil {
			continue
		}
		err := n.insist(ctx, subjects.VerbDelete, child.GetWorkflowId(), &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: child,
		}, nil, drainLimit)
		if err != nil && !isGone(err) {
			n.find("answer", child.GetWorkflowId(), "child %s is not deleted: %v", child.GetRunId(), err)
		}
	}
}

// requireGone finds a deleted run that somebody still sees.
func (n *node) requireGone(ctx context.Context, of *workflowservice.DeleteWorkflowExecutionRequest) {
	id, run := of.GetWorkflowExecution().GetWorkflowId(), of.GetWorkflowExecution().GetRunId()
	var described workflowservice.DescribeWorkflowExecutionResponse
	describe := &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: of.GetWorkflowExecution()}
	if err := n.insist(ctx, subjects.VerbDescribe, id, describe, &described, drainLimit); !isGone(err) {
		n.find("undead", id, "run %s was deleted, and is described: %v", run, err)
	}
	if _, err := n.fetchHistory(ctx, of.GetWorkflowExecution(), drainLimit); !isGone(err) {
		n.find("undead", id, "run %s was deleted, and has a history: %v", run, err)
	}
	if err := n.insist(ctx, subjects.VerbDelete, id, of, nil, drainLimit); !isGone(err) {
		n.find("undead", id, "run %s was deleted, and is deleted again: %v", run, err)
	}
}

func isGone(err error) bool {
	_, notFound := errors.AsType[*serviceerror.NotFound](err)
	return notFound
}

// writtenEntry is an entry as it was written.
type writtenEntry struct {
	// runs are those that it is about, with their events in it.
	runs map[string]span
	// stone says that it stands for a run that was deleted. removed says that it is gone.
	stone, removed bool
}

// span are the events of a run in an entry; both are zero if there are none.
type span struct{ from, to int64 }

// wrote notes an entry and the runs that it deletes.
func (e *executions) wrote(j *journaled, entry *execution.Entry, sequence uint64, now time.Time) {
	written := &writtenEntry{runs: map[string]span{}, stone: entry.Gone()}
	for i := range entry.Parts {
		part := &entry.Parts[i]
		var of span
		if n := len(part.Events); n > 0 {
			of = span{part.Events[0].GetEventId(), part.Events[n-1].GetEventId()}
		}
		written.runs[part.RunID] = of
		e.deletes(j, part, now)
		if run := j.newest(); run.id == part.RunID && run.first == 0 {
			run.first, run.began = sequence, now
		}
	}
	j.entries[sequence] = written
	if newest := j.newest(); newest.base != nil && !e.keeps(newest.base, now) && !newest.ended {
		e.world.met[metBaseGone]++
	}
}

// deletes notes the runs that a part deletes.
func (e *executions) deletes(j *journaled, part *execution.Part, now time.Time) {
	for _, run := range j.runs {
		if !run.deleted.IsZero() || !slices.Contains(part.Removed, run.id) {
			continue
		}
		run.deleted = now
		if len(part.Events) > 0 {
			e.world.met[metDeletedOpen]++
		} else {
			e.world.met[metDeletedEnded]++
		}
	}
}

// What happens to runs that are removed.
const (
	metDeletedOpen  = "a run in progress was deleted"
	metDeletedEnded = "a run that had ended was deleted"
	metExpired      = "an expired run was removed while things went wrong"
	metBaseGone     = "a run went on whose first events are those of a run that is gone"
)

// onlyDeletes reports whether a part says only that runs are deleted.
func onlyDeletes(part *execution.Part) bool {
	return part.First != 0 && len(part.Removed) > 0 && len(part.Events) == 0
}

// keeps reports whether a run must be there at a time.
func (e *executions) keeps(run *executionRun, at time.Time) bool {
	return (run.deleted.IsZero() || at.Before(run.deleted)) && !e.hasExpired(run, at)
}

// hasExpired reports whether a run ended longer ago than the retention.
func (e *executions) hasExpired(run *executionRun, at time.Time) bool {
	keep := e.world.plan.Retention
	return keep > 0 && run.ended && !at.Before(run.closed.Add(keep))
}

// needs reports whether a run needs an entry: it is about the run, or it has events that the run has from another one.
func (run *executionRun) needs(entry *writtenEntry) bool {
	if _, about := entry.runs[run.id]; about {
		return true
	}
	through := run.through
	for base := run.base; base != nil; base = base.base {
		if of := entry.runs[base.id]; of.from > 0 && of.from <= through {
			return true
		}
		through = min(through, base.through)
	}
	return false
}

// removing finds an entry that a process removes, and that a run needs which has neither been deleted nor expired.
func (e *executions) removing(stream string, sequence uint64) {
	for id, j := range e.journals {
		entry := j.entries[sequence]
		if entry == nil || e.world.names.JournalStream(subjects.ShardOf(aboutExecution(id), shards)) != stream {
			continue
		}
		entry.removed = true
		for _, run := range j.runs {
			if _, about := entry.runs[run.id]; about && run.deleted.IsZero() && !e.world.calm {
				e.world.met[metExpired]++
			}
			if e.keeps(run, time.Now()) && run.needs(entry) {
				e.world.ledger.find("torn", id, "entry %d is removed, and run %s needs it", sequence, run.id)
			}
		}
	}
}

// checkThere: what a client has asked about since a time is there as long as it is kept, and is not once it has been deleted.
func (e *executions) checkThere(id string, run *executionRun, since time.Time, errs ...error) {
	for _, err := range errs {
		switch {
		case err == nil && !run.deleted.IsZero() && run.deleted.Before(since):
			e.world.ledger.find("undead", id, "run %s has been deleted, and is there", run.id)
		case err != nil && (!isGone(err) || e.keeps(run, time.Now())):
			e.world.ledger.find("answer", id, "run %s is not there: %v", run.id, err)
		}
	}
}

// checkStored: nothing is stored of runs that have been deleted or have expired, except what stands for a deleted run, and what may have events of
// another run.
func (e *executions) checkStored() {
	for _, id := range slices.Sorted(maps.Keys(e.journals)) {
		stored := e.stored(id)
		for _, sequence := range slices.Sorted(maps.Keys(e.journals[id].entries)) {
			switch entry := e.journals[id].entries[sequence]; {
			case stored[sequence] == entry.removed:
				e.world.ledger.find("left", id, "entry %d is stored %t and was removed %t", sequence, stored[sequence], entry.removed)
			case stored[sequence] && !e.mayStay(e.journals[id], sequence, entry):
				e.world.ledger.find("left", id, "entry %d is about runs that are gone: %v", sequence, slices.Sorted(maps.Keys(entry.runs)))
			}
		}
	}
	for shard := range shards {
		if left := e.world.server.Messages(e.world.names.TaskStream(shard), ">"); e.world.plan.Retention > 0 && len(left) > 0 {
			e.world.ledger.find("left", "", "there is %s, and all runs are gone", left[0].Subject)
		}
	}
}

// stored are the entries of a workflow ID that its journal has.
func (e *executions) stored(id string) map[uint64]bool {
	all, key := map[uint64]bool{}, aboutExecution(id)
	shard := subjects.ShardOf(key, shards)
	for _, m := range e.world.server.Messages(e.world.names.JournalStream(shard), e.world.names.Journal(shard, key)) {
		all[m.Sequence] = true
	}
	return all
}

// mayStay reports whether an entry may be stored at the end.
func (e *executions) mayStay(j *journaled, sequence uint64, entry *writtenEntry) bool {
	return slices.ContainsFunc(j.runs, func(run *executionRun) bool {
		return e.keeps(run, time.Now()) && run.needs(entry) ||
			e.world.plan.Retention == 0 && (entry.stone || run.refersTo(sequence))
	})
}

// refersTo reports whether an entry lies between the first one from which a run has events, and the one with which it begins.
func (run *executionRun) refersTo(sequence uint64) bool {
	first := run.base
	for ; first != nil && first.base != nil; first = first.base {
	}
	return first != nil && first.first <= sequence && sequence < run.first
}
