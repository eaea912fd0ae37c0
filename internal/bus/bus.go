// Package bus is the access to JetStream: all code that stores, reads, removes or consumes messages goes through it.
//
//   - [Bus] has the few operations by which the roles send each other messages. Each operation happens or does not happen, and the
//     caller may not learn which. [NATS] is the bus of a connection. The simulation (internal/simulation) has another bus, with faults.
//     That is why the roles do not use the client library directly, and why the interface must stay small: the simulation has to model
//     each addition, and compare it with the server.
//   - [Streams] is a Bus that can do a little more, for journals and backlogs, and [Conn] sends plain NATS messages. They are apart because most
//     roles need neither.
//   - [Publisher] stores messages in streams, and waits for acknowledgements. One subscription receives all acknowledgements of a
//     connection, and messages of many goroutines share writes to the connection. nats.go can do the same
//     ([jetstream.JetStream.PublishMsgAsync]), but took twice the processor time: it needs a timer and two channels for each message,
//     and decodes acknowledgements under a lock.
//   - [LeaderLast] and its like ask the leader of a stream. nats.go asks any replica if the stream allows direct reads, and a replica may
//     lag behind. A decision that depends on an acknowledged write must ask the leader.
//   - [Reader] reads the newest messages of several subjects in one round trip, from any replica. JetStream answers such a request
//     ("multi_last" of a direct get, ADR-31) with a message for each subject and a message that marks the end; nats.go has no function
//     for it. [Lanes] are connections for reading, so that a stream that cannot be read for a moment holds up no other stream.
//   - [Ask] sends other requests to the JetStream API, and [CodeOf] finds the codes of its errors. [ForAnswer] bounds the wait for an answer, of any request.
//
// The package knows streams, subjects and headers. It does not know what messages contain, or what an error of the server means to the
// caller. It may import subjects. Everything that talks to JetStream may import it. Reads for people, such as the event history and the
// state of task queues, must not become part of [Bus].
package bus

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bus stores, reads and removes messages, and delivers the messages of consumers. It is safe for concurrent use. Errors come from
// nats.go. After an error that is not a refusal by the server ([jetstream.APIError]), the operation may or may not have happened.
type Bus interface {
	// Publish stores a message and returns when its stream has acknowledged it. The headers of the message say what the stream
	// checks first, and what it does besides storing the message.
	Publish(ctx context.Context, msg *nats.Msg) error
	// PublishOnce is Publish for a message with an ID. If the stream already had a message with this ID within its window, it
	// reports that the message is repeated, and does not store it.
	PublishOnce(ctx context.Context, msg *nats.Msg) (repeated bool, err error)
	// PublishAll stores messages in parallel. It returns when all are acknowledged, or with the first error.
	PublishAll(ctx context.Context, msgs []*nats.Msg) error
	// Last returns the last message of a subject from the leader of the stream; ErrNone if there is none.
	Last(ctx context.Context, stream, subject string) (Message, error)
	// Next returns the first message of a subject at or after a sequence, which is 1 or more, from the leader of the stream; ErrNone if
	// there is none.
	Next(ctx context.Context, stream, subject string, from uint64) (Message, error)
	// Remove removes a message. It is no error if the message is gone already.
	Remove(ctx context.Context, stream string, sequence uint64) error
	// Purge removes the messages of a subject.
	Purge(ctx context.Context, stream, subject string) error
	// Backlog returns how many messages of a consumer have not been acknowledged, whether delivered or not.
	Backlog(ctx context.Context, stream, consumer string) (int, error)
	// Delivered returns the stream sequence up to which a consumer has delivered every message that its filter selects. It has
	// delivered none beyond it. The sequence is 0 if it has delivered nothing, or if there is no such consumer.
	Delivered(ctx context.Context, stream, consumer string) (uint64, error)
	// Subjects asks the leader of a stream how many subjects that match a filter have messages.
	Subjects(ctx context.Context, stream, filter string) (int, error)
	// Pull begins to receive the messages of a durable consumer. It creates the consumer again if somebody has deleted it.
	Pull(ctx context.Context, stream string, consumer jetstream.ConsumerConfig) (Deliveries, error)

	// Connected reports whether a message sent now leaves this process now.
	Connected() bool
	// Closed reports whether the connection is closed for good.
	Closed() bool
	// MaxPayload is how many bytes the headers and the body of a message may have together.
	MaxPayload() int64
	// Flush waits until NATS has received everything sent so far, acknowledgements for example.
	Flush(ctx context.Context) error
	// Close stops the background work. Nothing may be published afterwards; the connection stays open.
	Close()
}

// Deliveries are the messages of a consumer, in the order in which they arrive.
type Deliveries interface {
	// Next waits for a message. An error means that no more messages will come.
	Next(ctx context.Context) (jetstream.Msg, error)
	// Drain asks NATS to stop sending. Next then returns the messages sent so far, and after them an error.
	Drain()
	// Stop ends the pull at once. NATS delivers messages again that were sent but not returned, to any process.
	Stop()
}
