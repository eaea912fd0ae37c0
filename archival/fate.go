package archival

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
)

// errGone: history does not find a run.
var errGone = errors.New("archival: history does not find the run")

// fate is what the journal of a run says that history does not find.
type fate int

const (
	// damaged: there are entries of the run, and none says that it was deleted. Nobody but a person knows what to do.
	damaged fate = iota
	// deleted: an entry says that somebody deleted the run.
	deleted
	// lost: no entry of the run is there, nor one that deletes it. There is nothing to keep.
	lost
)

// traces are what the entries of a journal say about a run.
type traces struct {
	runID string
	// end is the sequence of the entry with which it ended. It is all that is known of the run if that entry cannot be read: runID is empty then.
	end              uint64
	deleted, present bool
}

// add notes what an entry says. One that cannot be read may be about the run.
func (t *traces) add(e journal.Entry) {
	entry, err := execution.ParseEntry(e.Data)
	if t.present = t.present || e.Sequence == t.end || err != nil; err != nil {
		return
	}
	for i := range entry.Parts {
		t.present = t.present || entry.Parts[i].RunID == t.runID
		t.deleted = t.deleted || t.runID != "" && slices.Contains(entry.Parts[i].Removed, t.runID)
	}
}

func (t *traces) fate() fate {
	switch {
	case t.deleted:
		return deleted
	case t.present:
		return damaged
	}
	return lost
}

// fateOf reads what became of a run that history does not find, and that ended with an entry. The entry that deletes a run is that one, or a later one.
func (f *follow) fateOf(ctx context.Context, key schedule.Key, runID string, end uint64) (fate, error) {
	journals := journal.New(f.bus, f.config.Names)
	t := &traces{runID: runID, end: end}
	last, err := journals.Last(ctx, f.shard, key)
	for _, from := range []uint64{end, 1} {
		if err != nil || t.deleted || last.Sequence < from {
			continue
		}
		err = journals.Read(ctx, f.shard, key, from, last.Sequence, func(e journal.Entry) (bool, error) {
			t.add(e)
			return !t.deleted, nil
		})
	}
	if err != nil && !errors.Is(err, journal.ErrNone) {
		return damaged, err
	}
	return t.fate(), nil
}

// attempt archives a run that ended with an entry, unless somebody deleted it. A reason means that this run cannot be archived; an error, that others could
// not be, either. again says that it has been tried before: a run that is lost is left behind once, so that it is seen, and then forgotten.
func (f *follow) attempt(
	ctx context.Context, in *bucket, key schedule.Key, runID string, end uint64, again bool,
) (reason string, err error) {
	defer func() {
		if (err != nil || reason != "") && ctx.Err() == nil {
			metrics.ArchiveFailures.Add(ctx, 1, key.Namespace)
		}
	}()
	if reason, err = f.archiveRun(ctx, in, key, runID); errors.Is(err, errGone) {
		return f.missing(ctx, key, runID, end, again)
	}
	return reason, err
}

// missing is attempt for a run that history does not find.
func (f *follow) missing(ctx context.Context, key schedule.Key, runID string, end uint64, again bool) (reason string, err error) {
	became, err := f.fateOf(ctx, key, runID, end)
	switch {
	case err != nil || became == deleted:
		return "", err
	case became == lost && again:
		metrics.ArchiveLost.Add(ctx, 1, key.Namespace)
		f.log.ErrorContext(ctx, "an execution was lost before it was archived: its journal has neither its entries nor one that deletes it",
			"namespace", key.Namespace, "workflow_id", key.ID, "run_id", runID)
		return "", nil
	}
	return fmt.Sprintf("history does not find it, and no entry of its journal deletes it: the journal is damaged; it is the subject %s of the stream %s",
		f.config.Names.Journal(f.shard, key), f.config.Names.JournalStream(f.shard)), nil
}
