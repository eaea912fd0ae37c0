package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Conn sends and receives plain NATS messages: those that reach whoever listens at that moment, and that no stream has to store. [Plain] is a
// connection to NATS; the simulation has another one. Its methods are those of [nats.Conn], except that subscriptions end by it. It is safe
// for concurrent use. Errors are those of nats.go.
type Conn interface {
	// PublishMsg sends a message and does not wait for anybody to receive it.
	PublishMsg(msg *nats.Msg) error
	// RequestMsgWithContext sends a message and waits for the first answer; nats.ErrNoResponders if nobody listens.
	RequestMsgWithContext(ctx context.Context, msg *nats.Msg) (*nats.Msg, error)
	// QueueSubscribe calls handle for each message on a subject, one after the other. Of the subscriptions with the same queue, one gets each
	// message; a subscription without a queue gets all.
	QueueSubscribe(subject, queue string, handle nats.MsgHandler) (*nats.Subscription, error)
	// ChanQueueSubscribe is QueueSubscribe, and puts the messages into a channel. What does not fit is lost. Several subscriptions may share a
	// channel; Msg.Sub tells them apart.
	ChanQueueSubscribe(subject, queue string, msgs chan *nats.Msg) (*nats.Subscription, error)
	// Unsubscribe ends a subscription at once.
	Unsubscribe(sub *nats.Subscription)
	// Drain ends a subscription. What has been sent to it still comes; then the channel is closed. On a connection without a server it may
	// never be.
	Drain(sub *nats.Subscription) (ended <-chan struct{})
	// NewInbox returns a subject that nobody else has.
	NewInbox() string
	// MaxPayload is how many bytes the headers and the body of a message may have together.
	MaxPayload() int64
	// FlushTimeout waits until the server has received everything sent so far.
	FlushTimeout(limit time.Duration) error
}

// NobodyListens reports whether a message is NATS's own answer to a request that reached nobody.
func NobodyListens(answer *nats.Msg) bool {
	return len(answer.Data) == 0 && answer.Header.Get("Status") == statusNobody
}

// Plain is the [Conn] of a connection to NATS. The connection stays open.
type Plain struct{ *nats.Conn }

var _ Conn = Plain{}

// Unsubscribe implements [Conn].
func (Plain) Unsubscribe(sub *nats.Subscription) {
	_ = sub.Unsubscribe() // it fails only if the connection is closed
}

// Drain implements [Conn].
func (Plain) Drain(sub *nats.Subscription) <-chan struct{} {
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	_ = sub.Drain() // it fails only if the connection is closed
	return ended
}
