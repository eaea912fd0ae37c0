package bus

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/leader"
)

// Bus stores, reads and removes messages, and delivers those of consumers. It is safe for concurrent use. Errors are those
// of nats.go; after one that is not a refusal by the server ([jetstream.APIError]) what was asked for may or may not have
// happened.
type Bus interface {
	// Publish stores a message and returns when its stream has acknowledged it. What the stream is to check, and what it is
	// to do beside storing, stands in the headers of the message.
	Publish(ctx context.Context, msg *nats.Msg) error
	// PublishOnce is Publish of a message that has an ID. It reports whether the stream has had one of that ID within its
	// window already: then this one is not stored.
	PublishOnce(ctx context.Context, msg *nats.Msg) (repeated bool, err error)
	// PublishAll stores messages side by side, and returns when all are acknowledged, or with the error of one.
	PublishAll(ctx context.Context, msgs []*nats.Msg) error
	// Last returns the last message of a subject from the leader of the stream; leader.ErrNone if there is none.
	Last(ctx context.Context, stream, subject string) (leader.Message, error)
	// Remove removes a message. One that is not there is no error.
	Remove(ctx context.Context, stream string, sequence uint64) error
	// Purge removes the messages of a subject.
	Purge(ctx context.Context, stream, subject string) error
	// Backlog returns how many messages of a consumer have not been acknowledged: what has been delivered, and what has not.
	Backlog(ctx context.Context, stream, consumer string) (int, error)
	// Delivered returns a sequence of a stream beyond which a consumer has handed out nothing, and up to which it has handed
	// out all that it wants: 0 if it has handed out nothing, or there is no such consumer.
	Delivered(ctx context.Context, stream, consumer string) (uint64, error)
	// Subjects counts the subjects with messages that match a filter, by the word of the leader of the stream.
	Subjects(ctx context.Context, stream, filter string) (int, error)
	// Pull begins to take the messages of a durable consumer, which it makes anew if somebody has deleted it.
	Pull(ctx context.Context, stream string, consumer jetstream.ConsumerConfig) (Messages, error)

	// Connected reports whether what is sent now leaves this process now.
	Connected() bool
	// Closed reports whether there will never be a connection again.
	Closed() bool
	// MaxPayload is how many bytes the headers and the body of a message may have.
	MaxPayload() int64
	// Flush waits until NATS has received what has been sent, acknowledgements for example.
	Flush(ctx context.Context) error
	// Close ends what goes on in the background. Nothing may be published after that; the connection stays open.
	Close()
}

// Messages are those of a consumer, as they come.
type Messages interface {
	// Next waits for a message. Its error means that there will be no more.
	Next(ctx context.Context) (jetstream.Msg, error)
	// Drain asks NATS to send no more: Next returns what has been sent, then an error.
	Drain()
	// Stop ends the pull at once. What has been sent and not been returned comes again, to whom it may concern.
	Stop()
}
