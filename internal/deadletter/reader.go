package deadletter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Reader shows the dead letters of an installation to a person, sends them again and removes them. It needs NATS and no
// other process of the installation. It is immutable and safe for concurrent use.
type Reader struct {
	js       jetstream.JetStream
	names    subjects.Names
	identity string
	now      func() time.Time
}

// NewReader returns a reader that uses the connection of js.
func NewReader(js jetstream.JetStream, names subjects.Names) *Reader {
	return &Reader{js: js, names: names, now: time.Now}
}

// As returns a reader whose events say who asked.
func (r *Reader) As(identity string) *Reader {
	other := *r
	other.identity = identity
	return &other
}

// List returns the letters that a filter chooses, the newest last, never nil. It reads all of the stream.
func (r *Reader) List(ctx context.Context, filter Filter) ([]Letter, error) {
	letters := []Letter{}
	err := r.scan(ctx, func(s *stored) {
		if l := s.letter(r.names); filter.matches(&l) {
			letters = filter.newest(append(letters, l))
		}
	})
	return letters, err
}

// Get returns one letter. The error has schedule.CodeNotFound if it is not there.
func (r *Reader) Get(ctx context.Context, sequence uint64) (Message, error) {
	stream, err := r.stream(ctx)
	if err != nil {
		return Message{}, err
	}
	msg, err := stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) || sequence == 0 {
		return Message{}, notFound(sequence)
	}
	if err != nil {
		return Message{}, fmt.Errorf("deadletter: read letter %d: %w", sequence, err)
	}
	s := stored{sequence: msg.Sequence, time: msg.Time, subject: msg.Subject, header: msg.Header, data: msg.Data}
	return s.message(r.names), nil
}

// Delete removes one letter. The error has schedule.CodeNotFound if it is not there.
func (r *Reader) Delete(ctx context.Context, sequence uint64) error {
	stream, err := r.stream(ctx)
	if err != nil {
		return err
	}
	return remove(ctx, stream, sequence)
}

// Purge removes the letters that a filter chooses and returns how many those were, also along with an error. Letters that
// arrive meanwhile stay.
func (r *Reader) Purge(ctx context.Context, filter Filter) (int, error) {
	letters, err := r.List(ctx, filter)
	if err != nil {
		return 0, err
	}
	stream, err := r.stream(ctx)
	if err != nil {
		return 0, err
	}
	removed := 0
	for i := range letters {
		err := remove(ctx, stream, letters[i].Sequence)
		switch {
		case err == nil:
			removed++
		case schedule.CodeOf(err) != schedule.CodeNotFound: // somebody else was faster
			return removed, err
		}
	}
	return removed, nil
}

func (r *Reader) stream(ctx context.Context) (jetstream.Stream, error) {
	name := r.names.DeadLetterStream()
	stream, err := r.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "there is no stream %s: no installation has this prefix", name)
	}
	if err != nil {
		return nil, fmt.Errorf("deadletter: open %s: %w", name, err)
	}
	return stream, nil
}

func remove(ctx context.Context, stream jetstream.Stream, sequence uint64) error {
	err := stream.DeleteMsg(ctx, sequence)
	if err == nil {
		return nil
	}
	// The server has no error of its own for a message that is not there.
	if _, missing := stream.GetMsg(ctx, sequence); errors.Is(missing, jetstream.ErrMsgNotFound) || sequence == 0 {
		return notFound(sequence)
	}
	return fmt.Errorf("deadletter: remove letter %d: %w", sequence, err)
}

func notFound(sequence uint64) error {
	return schedule.Errorf(schedule.CodeNotFound, "there is no dead letter %d", sequence)
}

// scanWait is how long the stream may take for the next letter.
const scanWait = 5 * time.Second

// scan visits all letters that are there when it begins.
func (r *Reader) scan(ctx context.Context, visit func(*stored)) error {
	stream, err := r.stream(ctx)
	if err != nil || stream.CachedInfo().State.Msgs == 0 {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("deadletter: read the letters: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("deadletter: read the letters: %w", err)
	}
	defer messages.Stop()
	for last := stream.CachedInfo().State.LastSeq; ; {
		msg, err := next(ctx, messages)
		if err != nil {
			return fmt.Errorf("deadletter: read the letters: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("deadletter: read the letters: %w", err)
		}
		visit(&stored{
			sequence: meta.Sequence.Stream, time: meta.Timestamp, subject: msg.Subject(), header: msg.Headers(), data: msg.Data(),
		})
		if meta.NumPending == 0 || meta.Sequence.Stream >= last {
			return nil
		}
	}
}

func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, scanWait)
	defer cancel()
	return messages.Next(jetstream.NextContext(ctx))
}
