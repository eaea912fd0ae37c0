package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// giveUp makes a dead letter of an entry whose work no attempt of this release can do. The entry stays in its journal, and a person may ask for its
// work again (redoLater).
func (s *Service) giveUp(ctx context.Context, msg jetstream.Msg, cause error) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("history: a message that is not from a stream: %w", err)
	}
	letter := deadletter.New(s.config.Names.DeadLetter(subjects.PoolHistory), msg, meta, cause, s.bus.MaxPayload())
	if err := s.bus.Publish(ctx, letter); err != nil {
		return fmt.Errorf("history: store a dead letter: %w", err)
	}
	metrics.DeadLetters.Add(ctx, 1, subjects.PoolHistory)
	s.log.ErrorContext(ctx, "the work of an entry is a dead letter", "subject", msg.Subject(), "sequence", meta.Sequence.Stream, "reason", cause)
	return nil
}

// deliveries is how often a message has been delivered.
func deliveries(msg jetstream.Msg) uint64 {
	meta, err := msg.Metadata()
	if err != nil {
		return 0
	}
	return meta.NumDelivered
}

// redoLater does the work of an entry whose dead letter a person has sent again. It is done if the entry is no longer there.
func (s *Service) redoLater(ctx context.Context, key schedule.Key, sequence uint64) error {
	shard, found := s.shardOf(key), (*execution.Entry)(nil)
	err := s.journals.Read(ctx, shard, key, sequence, sequence, func(e journal.Entry) (_ bool, err error) {
		found, err = execution.ParseEntry(e.Data)
		return true, err
	})
	if errors.Is(err, journal.ErrNone) || err == nil && found == nil {
		return nil
	}
	if err != nil {
		return err
	}
	return s.redoEntry(ctx, key, found)
}

// errUnreadable is what clients are told if a journal cannot be read.
var errUnreadable = serviceerror.NewDataLoss("the history of the workflow cannot be read: carillon cluster check says why")

// legibly makes the error of a journal that cannot be read the one for clients.
func (s *Service) legibly(ctx context.Context, subject string, err error) error {
	if !errors.Is(err, codec.ErrFormat) {
		return err
	}
	s.log.ErrorContext(ctx, "a journal cannot be read", "subject", subject, "error", err)
	return errUnreadable
}
