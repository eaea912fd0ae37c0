package history

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// askAgain is after how long the process that has appended an entry is asked again. It does not divide effectsLimit, so that one of the two
	// comes first.
	askAgain = 1900 * time.Millisecond
	// firstRetry is after how long an entry whose work could not be done comes again. It doubles up to lastRetry.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// transfer takes the entries of one shard from the consumer until ctx ends.
func (s *Service) transfer(ctx context.Context, shard int) error {
	consumer := s.config.Names.Transfer(shard)
	for ctx.Err() == nil {
		messages, err := s.bus.Pull(ctx, consumer.Stream, consumer.Config)
		if err == nil {
			err = s.takeAll(ctx, messages)
		}
		if ctx.Err() != nil {
			break
		}
		if s.bus.Closed() {
			return err
		}
		s.log.WarnContext(ctx, "pull failed, will try again", "stream", consumer.Stream, "error", err)
		_ = sleep.For(ctx, time.Second)
	}
	return nil
}

func (s *Service) takeAll(ctx context.Context, messages bus.Deliveries) error {
	defer messages.Stop() // what has not been taken, NATS delivers to others
	for {
		msg, err := messages.Next(ctx)
		if err != nil {
			return err
		}
		s.take(msg)
	}
}

// take sees to it that the work of an entry is done, and the entry acknowledged then.
func (s *Service) take(msg jetstream.Msg) {
	id := msg.Headers().Get(journal.HeaderID)
	switch s.commits.deliver(id, msg) {
	case fateDone:
		_ = msg.Ack()
	case fatePending:
	case fateOwn:
		s.takeOver(msg, id, false)
	case fateAsk:
		s.takeOver(msg, id, true)
	}
}

// takeOver does the work of an entry, unless the process that has appended it is to be asked, and has done it.
func (s *Service) takeOver(msg jetstream.Msg, id string, ask bool) {
	s.commits.hold(msg)
	s.inBackground(func(ctx context.Context) error {
		if ask {
			if done, err := s.askCommitter(ctx, id); done || err != nil {
				return err
			}
		}
		return s.redo(ctx, msg)
	}, func(err error) {
		s.commits.release(msg, id, err == nil)
		if err == nil {
			_ = msg.Ack()
			return
		}
		if s.work.Err() == nil && !errors.Is(err, errNoRoom) {
			s.log.Warn("the work of an entry is not done yet", "subject", msg.Subject(), "error", err)
		}
		_ = msg.NakWithDelay(retryAfter(msg))
	})
}

func retryAfter(msg jetstream.Msg) time.Duration {
	return min(firstRetry<<min(deliveries(msg), 10)/2, lastRetry)
}

// askCommitter asks the process that has appended an entry whether its work is done. It is not, if there is no such process any more. It asks
// again and again, because the process may die while it is asked.
func (s *Service) askCommitter(ctx context.Context, id string) (done bool, err error) {
	subject := s.config.Names.Committer(s.commits.committer(id))
	for {
		asking, cancel := context.WithTimeout(ctx, askAgain)
		answer, err := s.config.Conn.RequestMsgWithContext(asking, &nats.Msg{Subject: subject, Data: []byte(id)})
		cancel()
		switch {
		case err == nil:
			return string(answer.Data) == answerDone, nil
		case errors.Is(err, nats.ErrNoResponders):
			return false, nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return false, err
		}
	}
}

// redo does the work of an entry that another process has appended, as far as it is still wanted. What no attempt can do becomes a dead letter.
func (s *Service) redo(ctx context.Context, msg jetstream.Msg) error {
	_, key, err := s.config.Names.ParseJournal(msg.Subject())
	if err != nil {
		return s.giveUp(ctx, msg, err)
	}
	entry, err := execution.ParseEntry(msg.Data())
	if err != nil {
		return s.giveUp(ctx, msg, err)
	}
	err = s.redoEntry(ctx, key, entry)
	if errors.Is(err, codec.ErrFormat) && deliveries(msg) >= s.config.maxDeliveries {
		return s.giveUp(ctx, msg, err)
	}
	return err
}

// redoEntry does the work of an entry, as far as it is still wanted. The error wraps codec.ErrFormat if the journal cannot be read.
func (s *Service) redoEntry(ctx context.Context, key schedule.Key, entry *execution.Entry) error {
	work, err := s.owed(ctx, key, entry)
	if err != nil {
		return err
	}
	metrics.HistoryRecovered.Add(ctx, 1)
	return s.perform(telemetry.WithTraceparent(ctx, entry.Trace), key, &work)
}

// owed returns what an entry makes due and is still to be done, and arms the delayed message that the entry may lack.
func (s *Service) owed(ctx context.Context, key schedule.Key, entry *execution.Entry) (work execution.Work, err error) {
	err = s.with(ctx, key, func(of *slot) error {
		if _, err := s.refresh(ctx, of); err != nil {
			return err
		}
		work = execution.Owed(of.state, entry)
		s.watch(of)
		return s.arm(ctx, of, execution.OwedTimer(of.state, entry))
	})
	return work, err
}
