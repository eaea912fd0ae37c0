package archival

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// silentRounds is for how many looks the record of another process may stay the same before its turn is over.
const silentRounds = 4

// turn says whether it is this process's turn to archive. Two processes that both think so do no harm: names and contents are the same, and each stores
// its progress only over the one that it knows. So nothing here must be exact.
type turn struct {
	cluster *kv.Cluster
	self    string
	// revision is that of the record of this process; 0 if it does not have its turn.
	revision uint64
	// seen is the last revision of the record of another process, and rounds for how many looks it has been that.
	seen   uint64
	rounds int
}

func newTurn(cluster *kv.Cluster) *turn { return &turn{cluster: cluster, self: uuid.NewString()} }

// hold takes the turn, or renews it, and reports whether this process has it.
func (t *turn) hold(ctx context.Context, status progress.Status) (bool, error) {
	status.Process = t.self
	if t.revision != 0 {
		return t.put(ctx, status, t.revision)
	}
	record, err := kv.GetJSON[progress.Status](ctx, t.cluster, subjects.KeyArchiver)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return t.put(ctx, status, 0)
	case err != nil && !errors.Is(err, kv.ErrCorrupt):
		return false, err
	case record.Value.Process == "": // it was given back
		return t.put(ctx, status, record.Revision)
	}
	if record.Revision != t.seen {
		t.seen, t.rounds = record.Revision, 0
	}
	if t.rounds++; t.rounds <= silentRounds {
		return false, nil
	}
	return t.put(ctx, status, record.Revision)
}

// put writes the record over a revision. If another process was faster, the turn is lost.
func (t *turn) put(ctx context.Context, status progress.Status, over uint64) (bool, error) {
	revision, err := kv.PutJSON(ctx, t.cluster, subjects.KeyArchiver, &status, over)
	if errors.Is(err, kv.ErrConflict) {
		t.revision, t.seen, t.rounds = 0, 0, 0
		return false, nil
	}
	if err == nil {
		t.revision = revision
	}
	return err == nil, err
}

// keep renews the turn until ctx ends. It calls lost if another process has it, or if it could not be renewed for so long that another one may.
func (t *turn) keep(ctx context.Context, every time.Duration, status func() progress.Status, lost func()) {
	for failures := 0; ; {
		if sleep.For(ctx, every) != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, every)
		held, err := t.hold(limited, status())
		cancel()
		if failures++; err == nil {
			failures = 0
		}
		if err == nil && !held || failures >= silentRounds-1 {
			lost()
			return
		}
	}
}

// release gives the turn back, so that another process takes it at once.
func (t *turn) release(ctx context.Context) {
	if t.revision == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = t.put(ctx, progress.Status{}, t.revision) // without it, the others wait
	t.revision = 0
}
