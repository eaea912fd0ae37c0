package history

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// near is how far ahead a process sets a timer of its own.
	near = time.Minute
	// leastDelay and mostDelay are for a delayed message that came before its time by the clock of this process: see [task.NotAtOnce].
	leastDelay = 100 * time.Millisecond
	mostDelay  = 5 * time.Second
	// armedMargin is how long before its time a delayed message is no longer relied on: the clock of NATS may be ahead.
	armedMargin = time.Second
)

// watch sets the timer of this process for the next deadline, if that is near. The caller has the turn.
func (s *Service) watch(of *slot) {
	at := of.state.NextDeadline()
	wait := at.Sub(s.config.Now())
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

// waker is the handler of the delayed messages that have come.
type waker struct{ *Service }

// Decode implements loop.Handler. The subject says everything.
func (waker) Decode(subjects.Task, jetstream.Msg) (struct{}, error) { return struct{}{}, nil }

// Handle implements loop.Handler: it lets happen what is due, and arms the next delayed message.
func (w waker) Handle(ctx context.Context, key schedule.Key, group []loop.Message[struct{}]) loop.Verdict {
	fired := group[0].Stored
	for i := range group {
		if group[i].Stored.After(fired) {
			fired = group[i].Stored
		}
	}
	err := w.with(ctx, key, func(of *slot) error {
		before := of.armed
		if _, err := w.change(ctx, of, execution.TimerDue{}); err != nil {
			return err
		}
		if of.armed != before && w.relies(of) {
			return nil // the entry has armed it
		}
		return w.armNext(ctx, of, fired)
	})
	if err != nil {
		return loop.Retry(err)
	}
	return loop.Done()
}

// armNext arms the delayed message for the next deadline, or for the time for which other processes believe it to be armed, if that is earlier.
// One has fired at a time by the clock of NATS; zero if not. The caller has the turn. What it arms is in no entry, so nobody relies on it.
func (s *Service) armNext(ctx context.Context, of *slot, fired time.Time) error {
	at := of.state.NextDeadline()
	if s.relies(of) && (at.IsZero() || of.armed.Before(at)) {
		at = of.armed
	}
	if at.IsZero() {
		return nil
	}
	return s.arm(ctx, of, task.NotAtOnce(at, fired, s.config.Now(), leastDelay, mostDelay))
}
