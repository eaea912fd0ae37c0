package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func executionKey(key schedule.Key) execution.Key {
	return execution.Key{Namespace: key.Namespace, WorkflowID: key.ID}
}

// refresh brings a slot up to the end of its journal, and reports whether it was behind. The caller has the turn.
func (s *Service) refresh(ctx context.Context, of *slot) (changed bool, err error) {
	last, err := s.journals.Last(ctx, of.shard, of.key)
	return s.bring(ctx, of, last, err)
}

// bring is refresh for a caller that has asked for the last entry, and got an error or none.
func (s *Service) bring(ctx context.Context, of *slot, last journal.Entry, err error) (changed bool, _ error) {
	if errors.Is(err, journal.ErrNone) {
		changed = of.state == nil || of.state.Sequence != 0
		if changed {
			of.forget()
			of.state = &execution.State{Key: executionKey(of.key)}
		}
		return changed, nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case of.state != nil && of.state.Sequence == last.Sequence:
		metrics.HistoryLoads.Add(ctx, 1, metrics.HistoryCached)
		return false, nil
	case of.state != nil && of.state.Sequence > 0 && of.state.Sequence < last.Sequence:
		if err = s.readTail(ctx, of, last); err == nil {
			metrics.HistoryLoads.Add(ctx, 1, metrics.HistoryTail)
			return true, nil
		}
		s.log.WarnContext(ctx, "an execution is read anew", "namespace", of.key.Namespace, "workflow_id", of.key.ID, "error", err)
	}
	metrics.HistoryLoads.Add(ctx, 1, metrics.HistoryJournal)
	if err = s.readAll(ctx, of, last); errors.Is(err, errGone) {
		return s.refresh(ctx, of)
	}
	return true, err
}

// errGone: the last entry of a journal has been removed before the journal was read that far.
var errGone = errors.New("history: entries have been removed meanwhile")

// readTail adds to a state what others have appended. After an error, the slot knows nothing.
func (s *Service) readTail(ctx context.Context, of *slot, last journal.Entry) error {
	state := of.state
	err := s.journals.Read(ctx, of.shard, of.key, state.Sequence+1, last.Sequence, func(e journal.Entry) (bool, error) {
		return true, s.apply(ctx, of, state, e, 0)
	})
	if err != nil {
		of.forget()
		return err
	}
	of.notify()
	return s.readHeartbeats(ctx, of)
}

// readAll replays the newest run. The last entry says where it begins.
func (s *Service) readAll(ctx context.Context, of *slot, last journal.Entry) error {
	of.forget()
	entry, err := execution.ParseEntry(last.Data)
	if err != nil {
		return fmt.Errorf("history: entry %d of %s/%s: %w", last.Sequence, of.key.Namespace, of.key.ID, err)
	}
	first := entry.Parts[len(entry.Parts)-1].First
	state := &execution.State{Key: executionKey(of.key)}
	if first == 0 || first == last.Sequence || entry.Gone() {
		first = last.Sequence
		err = s.apply(ctx, of, state, last, first)
	} else {
		err = s.journals.ReadRun(ctx, of.shard, of.key, first, last, entry.Short(), func(e journal.Entry) (bool, error) {
			if e.Sequence > first && state.Run == nil && entry.Over() {
				state = execution.Lost(state.Key, entry, last.Sequence)
				return false, nil
			}
			return true, s.apply(ctx, of, state, e, first)
		})
		switch {
		case err == nil && state.Sequence != last.Sequence:
			err = errGone
		case err != nil && entry.Over() && s.isRemoved(ctx, of, first, err):
			state, err = execution.Lost(state.Key, entry, last.Sequence), nil
		}
	}
	if err != nil {
		of.forget()
		return err
	}
	of.state = state
	of.notify()
	return s.readHeartbeats(ctx, of)
}

// reader reads the journal of a slot, through an entry.
func (s *Service) reader(ctx context.Context, of *slot, through uint64) execution.Reader {
	return func(from uint64, each func([]byte) (bool, error)) error {
		return s.journals.Read(ctx, of.shard, of.key, from, through, func(e journal.Entry) (bool, error) { return each(e.Data) })
	}
}

// parse decodes an entry, and reads what it refers to.
func (s *Service) parse(ctx context.Context, of *slot, stored journal.Entry) (*execution.Entry, error) {
	entry, err := execution.ParseEntry(stored.Data)
	if err == nil {
		err = entry.ReadBase(s.reader(ctx, of, stored.Sequence))
	}
	if err != nil {
		return nil, fmt.Errorf("history: entry %d of %s/%s: %w", stored.Sequence, of.key.Namespace, of.key.ID, err)
	}
	return entry, nil
}

// apply adds an entry to a state. The entry with which the run begins, first, may also end the run before it, which the state does not know.
func (s *Service) apply(ctx context.Context, of *slot, state *execution.State, stored journal.Entry, first uint64) error {
	entry, err := s.parse(ctx, of, stored)
	if err != nil {
		return err
	}
	if stored.Sequence == first {
		entry.Parts = entry.Parts[len(entry.Parts)-1:]
	}
	if err := state.Apply(entry, stored.Sequence); err != nil {
		return err
	}
	of.recent.add(entry)
	return nil
}

// notify wakes those who wait for a change.
func (s *slot) notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// readHeartbeats adds the heartbeats to a state that has been read. A heartbeat of another attempt does no harm: it says which attempt it is
// for. The leader is asked, because a heartbeat that is missing may end the activity. A standby has none, and ends nothing.
func (s *Service) readHeartbeats(ctx context.Context, of *slot) error {
	run := of.state.Run
	if !run.Open() || !beats(run) || s.config.Elsewhere != nil {
		return nil
	}
	stream, filter := s.config.Names.HeartbeatStream(), s.config.Names.Heartbeats(of.key, run.ID)
	for from := uint64(1); ; {
		m, err := s.bus.Next(ctx, stream, filter, from)
		if errors.Is(err, bus.ErrNone) {
			return nil
		}
		if err != nil {
			of.forget()
			return err
		}
		from = m.Sequence + 1
		event, err := subjects.EventOfHeartbeat(m.Subject)
		var beat execution.Heartbeat
		if err != nil || codec.Unmarshal(m.Data, &beat) != nil {
			continue // nobody else writes there; without it, the activity may time out
		}
		if _, pending := run.Activities[event]; pending {
			run.Heartbeats[event] = beat
		}
	}
}

// beats reports whether a run has an activity in progress that may have sent heartbeats.
func beats(run *execution.Run) bool {
	for _, activity := range run.Activities {
		if !activity.Started.IsZero() {
			return true
		}
	}
	return false
}

// find returns the run with an ID that is not the newest one, as it was at its end.
func (s *Service) find(ctx context.Context, of *slot, runID string) (*execution.State, error) {
	state := &execution.State{Key: executionKey(of.key)}
	first := uint64(0)
	from, err := s.firstOf(ctx, of, runID)
	if err != nil {
		return nil, s.unlessRemoved(ctx, of, runID, first, err)
	}
	err = s.walk(ctx, of, runID, from, func(entry *execution.Entry, sequence uint64) (bool, error) {
		if first == 0 && entry.Parts[0].First != 0 {
			return false, nil // its beginning has been removed
		}
		first = cmp.Or(first, sequence)
		err := s.applyFound(ctx, of, state, entry, sequence)
		return err == nil && state.Run.Open(), err
	})
	switch {
	case err == nil && first == 0:
		return nil, errNoRun(of.key, runID)
	case err == nil && state.Run.Open():
		err = errIncomplete // another run has begun since
	}
	return state, s.unlessRemoved(ctx, of, runID, first, err)
}

// applyFound adds an entry of a run that is not the newest one to its state.
func (s *Service) applyFound(ctx context.Context, of *slot, state *execution.State, entry *execution.Entry, sequence uint64) error {
	if err := entry.ReadBase(s.reader(ctx, of, sequence)); err != nil {
		return err
	}
	return state.Apply(entry, sequence)
}

// isRemoved reports whether a run could not be read because its entries are being removed: its first entry is gone, which goes first, or all of them
// are. first is zero if it is not known.
func (s *Service) isRemoved(ctx context.Context, of *slot, first uint64, err error) bool {
	if errors.Is(err, journal.ErrNone) {
		return true
	}
	if first == 0 || !errors.Is(err, codec.ErrFormat) {
		return false
	}
	next, failed := s.bus.Next(ctx, s.config.Names.JournalStream(of.shard), s.config.Names.Journal(of.shard, of.key), first)
	return errors.Is(failed, bus.ErrNone) || failed == nil && next.Sequence != first
}

// unlessRemoved returns the error of a run that could not be read, or Temporal's NotFound if that is because its entries are being removed. The caller
// has the turn.
func (s *Service) unlessRemoved(ctx context.Context, of *slot, runID string, first uint64, err error) error {
	if s.isRemoved(ctx, of, first, err) {
		return errNoRun(of.key, runID)
	}
	if errors.Is(err, codec.ErrFormat) { // the entry with which a run begins that was deleted stays if the run before ends with it
		if _, failed := s.refresh(ctx, of); failed == nil && of.state.Run.Deleted(runID) {
			return errNoRun(of.key, runID)
		}
	}
	return err
}

// errIncomplete: events of a run are missing.
var errIncomplete = fmt.Errorf("history: the journal lacks events: %w", codec.ErrFormat)

// firstOf returns a sequence at or before the first entry of a run that is not the newest one. Along a chain, the first entry of each run says
// where the one before begins. For a run of another chain it is the beginning of the journal.
func (s *Service) firstOf(ctx context.Context, of *slot, runID string) (first uint64, err error) {
	for first = of.state.Run.First; first > 0; {
		before := execution.Part{}
		err := s.journals.Read(ctx, of.shard, of.key, first, first, func(e journal.Entry) (bool, error) {
			entry, err := execution.ParseEntry(e.Data)
			if err == nil && len(entry.Parts) > 1 {
				before = entry.Parts[0]
			}
			return false, err
		})
		if err != nil || before.RunID == runID {
			return before.First, err
		}
		first = before.First
	}
	return 1, nil
}

// walk calls each for the entries of one run, with only the parts about it, from a sequence on. The caller has the turn.
func (s *Service) walk(
	ctx context.Context, of *slot, runID string, from uint64, each func(entry *execution.Entry, sequence uint64) (more bool, err error),
) error {
	return s.entries(ctx, of, from, func(entry *execution.Entry, sequence uint64) (bool, error) {
		for i := range entry.Parts {
			if entry.Parts[i].RunID == runID {
				entry.Parts = entry.Parts[i : i+1]
				return each(entry, sequence)
			}
		}
		return true, nil
	})
}

// entries calls each for the entries of a journal that the state has, from a sequence on. The caller has the turn.
func (s *Service) entries(
	ctx context.Context, of *slot, from uint64, each func(entry *execution.Entry, sequence uint64) (more bool, err error),
) error {
	return s.journals.Read(ctx, of.shard, of.key, from, of.state.Sequence, func(e journal.Entry) (bool, error) {
		entry, err := execution.ParseEntry(e.Data)
		if err != nil {
			return false, fmt.Errorf("history: entry %d of %s/%s: %w", e.Sequence, of.key.Namespace, of.key.ID, err)
		}
		return each(entry, e.Sequence)
	})
}
