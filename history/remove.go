package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/schedule"
)

// removalsAtOnce is how many entries of one workflow ID are removed at once.
const removalsAtOnce = 32

// remove deletes a run, for everybody and at once, by an entry. The other entries of the run are removed afterwards: see removeRuns.
func (s *Service) remove(ctx context.Context, key schedule.Key, r *workflowservice.DeleteWorkflowExecutionRequest) (proto.Message, error) {
	return s.attempts(ctx, key, func(of *slot) (proto.Message, error) {
		return s.tryRemove(ctx, of, r.GetWorkflowExecution().GetRunId())
	})
}

// tryRemove is remove for a caller that has the turn. The error wraps journal.ErrConflict if another process was faster.
func (s *Service) tryRemove(ctx context.Context, of *slot, runID string) (proto.Message, error) {
	state, err := s.run(ctx, of, runID)
	if err != nil {
		return nil, err
	}
	d, err := s.decide(ctx, of, execution.Delete{RunID: state.Run.ID})
	if err != nil {
		return nil, err
	}
	return s.carryOut(ctx, of, d)
}

// doomed is an entry to be removed.
type doomed struct {
	sequence uint64
	// run is the run that the entry leaves as the newest one. begins says that the entry begins it, and chained that the entry also ends the one before.
	run             string
	begins, chained bool
	// reset says that it begins it by a reset.
	reset bool
	// needs says that the run needs entries of others.
	needs bool
	// armed are the delayed messages that the entry has armed.
	armed []time.Time
	// entry is nil if it is only known where the entry is.
	entry *execution.Entry
}

func doom(sequence uint64, entry *execution.Entry) doomed {
	newest := &entry.Parts[len(entry.Parts)-1]
	d := doomed{sequence: sequence, run: newest.RunID, begins: newest.First == 0, needs: len(newest.Needs) > 0, entry: entry}
	d.chained, d.reset = d.begins && len(entry.Parts) > 1, newest.Base != nil
	for i := range entry.Parts {
		if at := entry.Parts[i].Armed; at != nil {
			d.armed = append(d.armed, *at)
		}
	}
	return d
}

// removeRuns removes the entries of runs that have been deleted, except those that other runs need: the entry that also ends the run before, or begins
// the next one, and what a run that a reset has begun has its events from. To do it again does no harm.
func (s *Service) removeRuns(ctx context.Context, key schedule.Key, runIDs []string) error {
	gone := map[string]bool{}
	for _, id := range runIDs {
		gone[id] = true
	}
	all, err := s.ofRuns(ctx, key, gone)
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	floor, err := s.floor(ctx, s.shardOf(key))
	if err != nil {
		return err
	}
	return s.removeEntries(ctx, key, all, 0, floor)
}

// ofRuns returns the entries about runs that have been deleted, and about nothing else.
func (s *Service) ofRuns(ctx context.Context, key schedule.Key, gone map[string]bool) (all []doomed, err error) {
	err = s.with(ctx, key, func(of *slot) error {
		if _, err := s.refresh(ctx, of); err != nil {
			return err
		}
		if of.state.Sequence == 0 {
			return nil
		}
		for _, id := range of.state.Run.Removed {
			gone[id] = true // an entry may be about one of these, too
		}
		return s.entries(ctx, of, 1, func(entry *execution.Entry, sequence uint64) (bool, error) {
			if only(entry, gone) && !entry.Gone() && !of.state.Run.Uses(sequence, sequence+1) {
				all = append(all, doom(sequence, entry))
			}
			return true, nil
		})
	})
	return all, err
}

// only reports whether an entry is about some runs only.
func only(entry *execution.Entry, runs map[string]bool) bool {
	for i := range entry.Parts {
		if !runs[entry.Parts[i].RunID] {
			return false
		}
	}
	return true
}

// turn is 0 to 3, by when the entry is removed.
func (d doomed) turn(last uint64) int {
	switch {
	case d.sequence == last:
		return 3
	case d.reset:
		return 0
	case d.begins:
		return 1
	}
	return 2
}

// removeEntries removes entries, and the delayed messages that they have armed, once the work of the entries is done. The entries with which runs begin go
// first, because without its beginning a run is taken for gone: those of resets one by one, the newest first, because such a run needs the ones before it.
// The entry last goes last, because whoever finds it begins again.
func (s *Service) removeEntries(ctx context.Context, key schedule.Key, all []doomed, last, floor uint64) error {
	if len(all) == 0 {
		return nil
	}
	if err := s.settleEntries(ctx, key, all, floor); err != nil {
		return err
	}
	for turn := range 4 {
		var group errgroup.Group
		group.SetLimit(removalsAtOnce)
		if turn == 0 {
			group.SetLimit(1)
		}
		for _, d := range slices.Backward(all) {
			if d.turn(last) == turn {
				group.Go(func() error { return s.removeEntry(ctx, key, d) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) removeEntry(ctx context.Context, key schedule.Key, d doomed) error {
	shard, names := s.shardOf(key), s.config.Names
	for _, at := range d.armed {
		if !at.After(s.config.Now()) {
			continue
		}
		if err := s.bus.Purge(ctx, names.TaskStream(shard), names.ExecutionTimer(shard, key, at)); err != nil {
			return err
		}
	}
	return s.bus.Remove(ctx, names.JournalStream(shard), d.sequence)
}

// floor returns the sequence up to which the work of all entries of a shard is done.
func (s *Service) floor(ctx context.Context, shard int) (uint64, error) {
	transfer := s.config.Names.Transfer(shard)
	return s.bus.Floor(ctx, transfer.Stream, transfer.Config.Durable)
}

// settleEntries does what entries above the floor make due and is still to be done. Mostly there are none.
func (s *Service) settleEntries(ctx context.Context, key schedule.Key, all []doomed, floor uint64) error {
	for _, d := range all {
		if d.sequence <= floor {
			continue
		}
		work, err := s.owed(ctx, key, d.entry)
		if err != nil {
			return err
		}
		work.Removals = nil
		if err := s.perform(ctx, key, &work); err != nil {
			return err
		}
	}
	return nil
}

// clockDifference is how much the clocks of two machines may differ.
const clockDifference = time.Minute

// expired reports whether a run has ended so long ago that it may be removed at any moment.
func (s *Service) expired(key schedule.Key, run *execution.Run) bool {
	if run.Open() || run.Close.IsZero() {
		return false
	}
	record, known := s.config.Namespaces.Get(key.Namespace)
	return known && !record.Unreadable && !s.config.Now().Before(run.Close.Add(record.Limits.KeepsRuns()))
}
