// Package workerbus is what a worker asks of NATS. Workers talk to this interface, so that they also run without a NATS
// server: internal/simulation implements it in memory. [New] is the one that talks to NATS.
//
// It is small on purpose, and holds nothing of what a worker decides. The package may import internal/bus; package worker
// and internal/simulation may import it.
package workerbus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bus is a connection of a worker. It is safe for concurrent use. Errors are those of nats.go; after one that is not a refusal
// by the server ([jetstream.APIError]) what was asked for may or may not have happened.
type Bus interface {
	// Subscribe calls handle, one call at a time, for what is published on a subject while there is a connection. That is
	// plain NATS: what comes at another time is not seen.
	Subscribe(subject string, handle func(Message)) (unsubscribe func(), err error)
	// Attach finds or makes the consumer of a task queue, in the stream of actions.
	Attach(ctx context.Context, stream string, config jetstream.ConsumerConfig) (Queue, error)
	// Last returns what a stream has last on a subject, by the word of any replica; jetstream.ErrMsgNotFound if there is nothing.
	Last(ctx context.Context, stream, subject string) ([]byte, error)
	// Publish stores a message and returns when its stream has acknowledged it.
	Publish(ctx context.Context, msg *nats.Msg) error
	// PublishAll stores messages side by side, and returns when all are acknowledged, or with the error of one.
	PublishAll(ctx context.Context, msgs []*nats.Msg) error

	// Connected reports whether what is sent now leaves this process now, Closed whether there will never be a connection
	// again. Reconnects counts how often the connection was lost and is there again.
	Connected() bool
	Closed() bool
	Reconnects() uint64
	// MaxPayload is how many bytes the headers and the body of a message may have.
	MaxPayload() int64
	// Flush waits until NATS has received what has been sent, no longer than so long.
	Flush(limit time.Duration)
	// Close ends what goes on in the background. Nothing may be published after that; the connection stays open.
	Close()
}

// Message is one that has come by a subscription. Respond answers it, on the subject Reply; it is nil where nobody waits for an answer.
type Message struct {
	Subject string
	Reply   string
	Data    []byte
	Respond func(data []byte) error
}

// Queue is the consumer of a task queue.
type Queue interface {
	// AckWait is how long a worker may be silent about a run before another gets it.
	AckWait() time.Duration
	// Pull asks for that many messages.
	Pull(count int) (Deliveries, error)
}

// Deliveries are the messages that have been asked for, as they come.
type Deliveries interface {
	// Next waits for a message. Its error means that there will be no more.
	Next(ctx context.Context) (jetstream.Msg, error)
	// Drain asks NATS to send no more: Next returns what has been sent, then an error.
	Drain()
	// Stop ends the pull at once.
	Stop()
}
