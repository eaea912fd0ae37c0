package consistency

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// removalDelay is how long after its retention a workflow may still be there. Whoever has just begun to remove runs, or whose retention was shortened,
// needs a while.
const removalDelay = time.Hour

// retention returns for how long the namespace of an execution that has ended keeps it; 0 if it need not be known, or is not. A namespace that asks for an
// archive keeps it until it is there, and only history knows that: a repair must not remove what is not archived.
func (l *executionLook) retention(ctx context.Context, x *Execution) (time.Duration, error) {
	if x.Over.IsZero() || l.reader.spaces == nil {
		return 0, nil
	}
	keeps, known := l.keeps[x.Key.Namespace]
	if known {
		return keeps, nil
	}
	record, err := l.reader.spaces.Get(ctx, x.Key.Namespace)
	switch {
	case errors.Is(err, kv.ErrNotFound), errors.Is(err, kv.ErrCorrupt):
	case err != nil:
		return 0, err
	case !record.Deleting && record.Limits.Archive == "":
		keeps = record.Limits.KeepsRuns()
	}
	l.keeps[x.Key.Namespace] = keeps
	return keeps, nil
}

// expired finds a workflow that should have been removed. If its newest run has expired, so have those before.
func (in *executionInspector) expired() {
	if in.Settled && in.Keeps > 0 && in.Now.After(in.Over.Add(in.Keeps+removalDelay)) {
		in.found(RunExpired, "", revision(in.Sequence), removeExecution{in.Sequence}, "remove it",
			"it has ended, its namespace keeps it until %s, and it is still there", instant(in.Over.Add(in.Keeps)))
	}
}

// removeExecution removes the entries of a journal up to the one with which its newest run has ended. A run that has begun meanwhile stays. The beginning
// of a run goes first, as it does when history removes it: a run without its beginning counts as gone.
type removeExecution struct{ through uint64 }

func (r removeExecution) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	shard := m.store.ShardOf(key)
	var all []uint64
	err := m.journals.Read(ctx, shard, key, 1, r.through, func(e journal.Entry) (bool, error) {
		all = append(all, e.Sequence)
		return true, nil
	})
	if err != nil && !errors.Is(err, journal.ErrNone) {
		return err
	}
	for _, sequence := range all {
		if err := m.bus.Remove(ctx, m.names.JournalStream(shard), sequence); err != nil {
			return err
		}
	}
	return nil
}
