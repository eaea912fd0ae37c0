package deadletter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Reader lists the dead letters of an installation, sends them again and removes them. It needs NATS and no other process of the
// installation. It is immutable and safe for concurrent use.
type Reader struct {
	js       jetstream.JetStream
	names    subjects.Names
	identity string
	now      func() time.Time
}

// NewReader returns a reader that uses the connection of js.
func NewReader(js jetstream.JetStream, names subjects.Names) *Reader {
	return &Reader{js: js, names: names, now: time.Now} //permit:time.Now tests replace it
}

// As returns a reader whose events name identity as the caller.
func (r *Reader) As(identity string) *Reader {
	other := *r
	other.identity = identity
	return &other
}

// List returns the letters that a filter selects, the newest last, never nil. It reads the whole streams.
func (r *Reader) List(ctx context.Context, filter Filter) ([]Letter, error) {
	letters := []Letter{}
	for _, worker := range []bool{false, true} {
		var own []Letter
		err := r.scan(ctx, worker, func(s *stored) {
			if l := s.letter(r.names); filter.matches(&l) {
				own = filter.newest(append(own, l))
			}
		})
		if err != nil {
			return letters, err
		}
		letters = append(letters, own...)
	}
	slices.SortStableFunc(letters, func(a, b Letter) int { return a.Time.Compare(b.Time) })
	return filter.newest(letters), nil
}

// Get returns one letter. The error has schedule.CodeNotFound if there is none.
func (r *Reader) Get(ctx context.Context, number Number) (Message, error) {
	stream, err := r.stream(ctx, number.Worker)
	if err != nil {
		return Message{}, err
	}
	if stream == nil {
		return Message{}, notFound(number)
	}
	if number.Sequence == 0 {
		return Message{}, notFound(number)
	}
	// nats.go would ask a replica, and believe the headers that a worker gave its letter.
	msg, err := bus.LeaderAt(ctx, r.js, stream.CachedInfo().Config.Name, number.Sequence)
	if errors.Is(err, bus.ErrNone) {
		return Message{}, notFound(number)
	}
	if err != nil {
		return Message{}, fmt.Errorf("deadletter: read letter %s: %w", number, err)
	}
	s := stored{
		worker: number.Worker, sequence: msg.Sequence, time: msg.Time, subject: msg.Subject, header: msg.Header, data: msg.Data,
	}
	return s.message(r.names), nil
}

// Delete removes one letter. The error has schedule.CodeNotFound if there is none.
func (r *Reader) Delete(ctx context.Context, number Number) error {
	stream, err := r.stream(ctx, number.Worker)
	if err != nil {
		return err
	}
	return remove(ctx, stream, number)
}

// Purge removes the letters that a filter selects and returns their number, even with an error. Letters that arrive meanwhile
// stay.
func (r *Reader) Purge(ctx context.Context, filter Filter) (int, error) {
	letters, err := r.List(ctx, filter)
	if err != nil {
		return 0, err
	}
	streams := map[bool]jetstream.Stream{}
	for _, worker := range []bool{false, true} {
		if streams[worker], err = r.stream(ctx, worker); err != nil {
			return 0, err
		}
	}
	removed := 0
	for i := range letters {
		number := letters[i].Number
		err := remove(ctx, streams[number.Worker], number)
		switch {
		case err == nil:
			removed++
		case schedule.CodeOf(err) != schedule.CodeNotFound: // somebody else was faster
			return removed, err
		}
	}
	return removed, nil
}

// stream opens one of the streams. An installation of an earlier release has no stream of workers; it is nil then.
func (r *Reader) stream(ctx context.Context, worker bool) (jetstream.Stream, error) {
	name := r.names.DeadLetterStream()
	if worker {
		name = r.names.WorkerDeadLetterStream()
	}
	stream, err := r.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && worker:
		return nil, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "there is no stream %s: no installation has this prefix", name)
	case err != nil:
		return nil, fmt.Errorf("deadletter: open %s: %w", name, err)
	}
	return stream, nil
}

func remove(ctx context.Context, stream jetstream.Stream, number Number) error {
	if stream == nil {
		return notFound(number)
	}
	err := stream.DeleteMsg(ctx, number.Sequence)
	if err == nil {
		return nil
	}
	// The server has no specific error for a missing message.
	if _, missing := stream.GetMsg(ctx, number.Sequence); errors.Is(missing, jetstream.ErrMsgNotFound) || number.Sequence == 0 {
		return notFound(number)
	}
	return fmt.Errorf("deadletter: remove letter %s: %w", number, err)
}

func notFound(number Number) error {
	return schedule.Errorf(schedule.CodeNotFound, "there is no dead letter %s", number)
}

// scanWait is how long the stream may take for the next letter.
const scanWait = 5 * time.Second

// scan visits all letters of a stream that exist when it begins.
func (r *Reader) scan(ctx context.Context, worker bool, visit func(*stored)) error {
	stream, err := r.stream(ctx, worker)
	if err != nil || stream == nil || stream.CachedInfo().State.Msgs == 0 {
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
			worker: worker, sequence: meta.Sequence.Stream, time: meta.Timestamp, subject: msg.Subject(), header: msg.Headers(), data: msg.Data(),
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
