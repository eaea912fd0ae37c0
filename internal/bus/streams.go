package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Streams is a [Bus] with what journals and backlogs need besides.
type Streams interface {
	Bus
	// Append is Publish, and returns the sequence of the message.
	Append(ctx context.Context, msg *nats.Msg) (sequence uint64, err error)
	// Latest is Last, and costs half where the stream has one replica: the message then has no time.
	Latest(ctx context.Context, stream, subject string) (Message, error)
	// Subject returns the first messages of a subject, or of those that match one, at or after a sequence, which is 1 or more: at most limit, which is 2 or more. They come
	// from any replica, which may not know the newest ones: see [Reader.Subject].
	Subject(ctx context.Context, stream, subject string, from uint64, limit int) ([]Message, error)
	// At returns the message at a sequence, which is 1 or more, from any replica: see [Reader.At].
	At(ctx context.Context, stream string, sequence uint64) (Message, error)
	// Counts asks the leader of a stream how many messages each subject has that matches a filter.
	Counts(ctx context.Context, stream, filter string) (map[string]uint64, error)
	// Floor returns the sequence of a stream up to which a consumer counts every message as acknowledged.
	Floor(ctx context.Context, stream, consumer string) (uint64, error)
	// Consumer returns a durable consumer to fetch from, and creates it if there is none.
	Consumer(ctx context.Context, stream string, consumer jetstream.ConsumerConfig) (Fetcher, error)
}

// Fetcher fetches the messages of a consumer. It is safe for concurrent use.
type Fetcher interface {
	// Fetch asks for up to n messages, and calls each for every one that comes. It returns when all have come, or after wait. With a wait of 0 it
	// gets only what is there already.
	Fetch(n int, wait time.Duration, each func(jetstream.Msg)) error
}

var _ Streams = (*NATS)(nil)

// Append implements [Streams].
func (b *NATS) Append(ctx context.Context, msg *nats.Msg) (uint64, error) {
	return b.publisher.Publish(ctx, msg)
}

// Subject implements [Streams].
func (b *NATS) Subject(ctx context.Context, stream, subject string, from uint64, limit int) ([]Message, error) {
	return b.reader.Subject(ctx, stream, subject, from, limit)
}

// At implements [Streams].
func (b *NATS) At(ctx context.Context, stream string, sequence uint64) (Message, error) {
	return b.reader.At(ctx, stream, sequence)
}

// Counts implements [Streams].
func (b *NATS) Counts(ctx context.Context, stream, filter string) (map[string]uint64, error) {
	return leaderCounts(ctx, b.js, stream, filter)
}

// Floor implements [Streams].
func (b *NATS) Floor(ctx context.Context, stream, consumer string) (uint64, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	c, err := b.js.Consumer(ctx, stream, consumer) // asks the leader of the consumer
	if err != nil {
		return 0, err
	}
	return c.CachedInfo().AckFloor.Stream, nil
}

// Consumer implements [Streams].
func (b *NATS) Consumer(ctx context.Context, stream string, config jetstream.ConsumerConfig) (Fetcher, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	consumer, err := b.js.Consumer(ctx, stream, config.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = b.js.CreateConsumer(ctx, stream, config)
		if errors.Is(err, jetstream.ErrConsumerExists) { // another process was faster
			consumer, err = b.js.Consumer(ctx, stream, config.Durable)
		}
	}
	if err != nil {
		return nil, err
	}
	return fetcher{consumer}, nil
}

type fetcher struct{ consumer jetstream.Consumer }

func (f fetcher) ask(n int, wait time.Duration) (jetstream.MessageBatch, error) {
	if wait <= 0 {
		return f.consumer.FetchNoWait(n)
	}
	return f.consumer.Fetch(n, jetstream.FetchMaxWait(wait))
}

// Fetch implements [Fetcher].
func (f fetcher) Fetch(n int, wait time.Duration, each func(jetstream.Msg)) error {
	batch, err := f.ask(n, wait)
	if err != nil {
		return err
	}
	for msg := range batch.Messages() {
		each(msg)
	}
	return batch.Error()
}
