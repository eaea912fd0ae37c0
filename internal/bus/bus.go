// Package bus is the access to JetStream: whatever stores, reads, removes or takes messages does it here.
//
//   - [Bus] is what the roles need of JetStream to send each other messages: few operations, each of which either happens or does not,
//     and whose outcome may be unknown to the caller. [NATS] is the bus of a connection. The simulation (internal/simulation) has
//     another, with faults. That is why the roles do not use the client library directly, and why the interface must stay small: what is
//     added to it has to be modelled there, and compared with the server.
//   - [Publisher] stores messages in streams, and waits until they are acknowledged. All acknowledgements of a connection come by one
//     subscription, and messages of many goroutines share their writes to the connection. nats.go can do the same
//     ([jetstream.JetStream.PublishMsgAsync]); that took twice the processor time, a fifteenth of what an action costs, for a timer and
//     two channels for each message and acknowledgements decoded under a lock.
//   - [LeaderLast] and its like ask the leader of a stream. Streams that allow direct reads are answered by any replica, which may lag
//     behind, and nats.go always asks that way. A decision that needs what was acknowledged before needs the leader.
//   - [Reader] reads the newest messages of several subjects in one round trip, from any replica. JetStream answers such a request
//     ("multi_last" of a direct get, ADR-31) with a message for each subject and one that marks the end, for which nats.go has no
//     function. [Lanes] are connections to read by, so that a stream which cannot be read for a moment holds up no other.
//   - [Ask] sends other requests to the API of JetStream, and [CodeOf] finds the codes of its errors.
//
// The package knows streams, subjects and headers, not what is sent, nor what an error of the server means to the caller. It may import
// subjects. All that talks to JetStream may import it. Reads for people, such as the event history and the state of task queues, must not
// become part of [Bus].
package bus

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
	// Last returns the last message of a subject from the leader of the stream; ErrNone if there is none.
	Last(ctx context.Context, stream, subject string) (Message, error)
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
	Pull(ctx context.Context, stream string, consumer jetstream.ConsumerConfig) (Deliveries, error)

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

// Deliveries are the messages of a consumer, as they come.
type Deliveries interface {
	// Next waits for a message. Its error means that there will be no more.
	Next(ctx context.Context) (jetstream.Msg, error)
	// Drain asks NATS to send no more: Next returns what has been sent, then an error.
	Drain()
	// Stop ends the pull at once. What has been sent and not been returned comes again, to whom it may concern.
	Stop()
}
