package history

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// near is how far ahead a process sets a timer of its own.
	near = time.Minute
	// leastDelay and mostDelay are for a delayed message that came before its time by the clock of this process: see [task.NotAtOnce].
	leastDelay = 100 * time.Millisecond
	mostDelay  = 5 * time.Second
	// soonest is after how long the timer of a process fires, at least. Whoever wants the turn at the same moment, perhaps with the delayed message of the
	// same deadline, gets it first.
	soonest = time.Millisecond
)

// watch sets the timer of this process for the next deadline, if that is near. The caller has the turn.
func (s *Service) watch(of *slot) {
	at := of.state.NextDeadline()
	wait := max(at.Sub(s.config.Now()), soonest)
	switch {
	case at.IsZero() || wait > near:
		if of.timer != nil {
			of.timer.Stop()
		}
	case of.timer == nil:
		key := of.key
		of.timer = time.AfterFunc(wait, func() { s.spawn(func() { s.due(key) }) })
	default:
		of.timer.Reset(wait)
	}
}

// due lets happen what is due. After an error, the delayed message is what is left.
func (s *Service) due(key schedule.Key) {
	if _, err := s.transition(s.work, key, execution.TimerDue{}); err != nil && s.work.Err() == nil {
		s.log.Warn("a deadline is late", "namespace", key.Namespace, "workflow_id", key.ID, "error", err)
	}
}

// waker is the handler of the delayed messages that have come, and of entries whose work is to be done again. The body of a message is the sequence
// of such an entry, or 0.
type waker struct{ *Service }

// Decode implements loop.Handler. The subject says everything.
func (waker) Decode(task subjects.Task, _ jetstream.Msg) (uint64, error) { return task.EntryToRedo() }

// Handle implements loop.Handler: it lets happen what is due, and the next delayed message is armed.
func (w waker) Handle(ctx context.Context, key schedule.Key, group []loop.Message[uint64]) loop.Verdict {
	fired := group[0].Stored
	for i := range group {
		if sequence := group[i].Body; sequence > 0 {
			if err := w.redoLater(ctx, key, sequence); err != nil {
				return loop.Retry(err)
			}
		}
		if group[i].Stored.After(fired) {
			fired = group[i].Stored
		}
	}
	if err := w.come(ctx, key, fired); err != nil {
		return loop.Retry(err)
	}
	return loop.Done()
}

// come lets happen what is due when a delayed message has come. Most executions have ended by then. If this process does not have one in memory, the
// last entry alone tells, and the journal need not be read.
func (s *Service) come(ctx context.Context, key schedule.Key, fired time.Time) error {
	return s.with(ctx, key, func(of *slot) error {
		if of.state == nil {
			last, err := s.journals.Last(ctx, of.shard, of.key)
			if err == nil && execution.EndsWith(last.Data) {
				return nil
			}
			if _, err := s.bring(ctx, of, last, err); err != nil {
				return err
			}
		}
		_, err := s.change(ctx, of, execution.TimerDue{Came: fired})
		return err
	})
}
