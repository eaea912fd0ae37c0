// Package workerbus is what a worker requests from NATS. Workers use this interface, so that they also run without a NATS server:
// internal/simulation implements it in memory. [New] returns the bus that talks to NATS.
//
// It is deliberately small, and contains none of the decisions of a worker. The package may import internal/bus; package worker
// and internal/simulation may import it.
package workerbus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bus is a connection of a worker. It is safe for concurrent use. Errors are those of nats.go. After an error that is not a
// refusal by the server ([jetstream.APIError]), the request may or may not have taken effect.
type Bus interface {
	// Subscribe calls handle, one call at a time, for the messages on a subject while there is a connection. This is plain NATS:
	// messages at other times are lost.
	Subscribe(subject string, handle func(Message)) (unsubscribe func(), err error)
	// Attach finds or creates the consumer of a task queue in the action stream.
	Attach(ctx context.Context, stream string, config jetstream.ConsumerConfig) (Queue, error)
	// Last returns the last message of a stream on a subject, as any replica has it; jetstream.ErrMsgNotFound if there is none.
	Last(ctx context.Context, stream, subject string) ([]byte, error)
	// Publish stores a message and returns when its stream has acknowledged it.
	Publish(ctx context.Context, msg *nats.Msg) error
	// PublishAll stores messages in parallel, and returns when all are acknowledged, or with the error of one.
	PublishAll(ctx context.Context, msgs []*nats.Msg) error

	// Connected reports whether messages leave this process at once. Closed reports whether there will never be a connection
	// again. Reconnects counts how often the connection was lost and restored.
	Connected() bool
	Closed() bool
	Reconnects() uint64
	// MaxPayload is the largest size of the headers and the body of a message, in bytes.
	MaxPayload() int64
	// Flush waits until NATS has received everything that was sent, at most for limit.
	Flush(limit time.Duration)
	// Close ends the background work. Nothing may be published after that; the connection stays open.
	Close()
}

// Message is a message from a subscription. Respond answers it, on the subject Reply. It is nil if nobody waits for an answer.
type Message struct {
	Subject string
	Reply   string
	Data    []byte
	Respond func(data []byte) error
}

// Queue is the consumer of a task queue.
type Queue interface {
	// AckWait is how long a worker may be silent about a run before another worker receives it.
	AckWait() time.Duration
	// Pull asks for count messages.
	Pull(count int) (Deliveries, error)
}

// Deliveries are the requested messages, as they arrive.
type Deliveries interface {
	// Next waits for a message. After an error there will be no more.
	Next(ctx context.Context) (jetstream.Msg, error)
	// Drain asks NATS to send no more. Next returns what has been sent, then an error.
	Drain()
	// Stop ends the pull at once.
	Stop()
}
