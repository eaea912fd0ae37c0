package bus

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publisher stores messages through one connection. It is safe for concurrent use. Errors come from nats.go. After an error that is not a
// refusal by the server ([jetstream.APIError]), the message may or may not have been stored.
type Publisher struct {
	conn *nats.Conn
	acks acks
}

// NewPublisher returns a publisher for the connection of a JetStream context.
func NewPublisher(js jetstream.JetStream) *Publisher {
	return &Publisher{conn: js.Conn()}
}

// Publish stores a message and returns its sequence in the stream. If no acknowledgement comes, it returns
// [jetstream.ErrAsyncPublishTimeout] after 5 to 6 s. It does not change the message.
func (p *Publisher) Publish(ctx context.Context, msg *nats.Msg) (sequence uint64, err error) {
	sequence, _, err = p.PublishOnce(ctx, msg)
	return sequence, err
}

// PublishOnce is Publish for a message with an ID. If the stream already had a message with this ID within its window, it reports that the
// message is repeated, returns the sequence of the earlier message, and stores nothing.
func (p *Publisher) PublishOnce(ctx context.Context, msg *nats.Msg) (sequence uint64, repeated bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	sent, err := p.send(msg)
	if err != nil {
		return 0, false, err
	}
	a := p.wait(ctx, sent)
	return a.sequence, a.repeated, a.err
}

// PublishAll stores messages in parallel. It returns when all are acknowledged, or with the first error. After an error, the other
// messages may be stored, not stored, or stored later.
func (p *Publisher) PublishAll(ctx context.Context, msgs []*nats.Msg) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	all := make([]pending, 0, len(msgs))
	defer func() { p.acks.forget(all) }()
	for _, msg := range msgs {
		sent, err := p.send(msg)
		if err != nil {
			return err
		}
		all = append(all, sent)
	}
	for ; len(all) > 0; all = all[1:] {
		if a := p.wait(ctx, all[0]); a.err != nil {
			return a.err
		}
	}
	return nil
}

// Close ends the subscription for acknowledgements; the connection stays open. Closing the connection does the same. Callers that still
// wait get [nats.ErrConnectionClosed], and so do callers that publish afterwards.
func (p *Publisher) Close() { p.acks.close(p.conn) }

// send sends a message, and returns the token by which its acknowledgement is found.
func (p *Publisher) send(msg *nats.Msg) (pending, error) {
	sent, err := p.acks.expect(p.conn)
	if err != nil {
		return pending{}, err
	}
	err = p.conn.PublishMsg(&nats.Msg{Subject: msg.Subject, Reply: sent.reply, Header: msg.Header, Data: msg.Data})
	if err != nil {
		p.acks.forget([]pending{sent})
		return pending{}, err
	}
	return sent, nil
}

func (p *Publisher) wait(ctx context.Context, sent pending) ackAnswer {
	select {
	case a := <-sent.answer:
		ackAnswers.Put(sent.answer)
		return a
	case <-ctx.Done():
		p.acks.forget([]pending{sent})
		countLate(ctx.Err())
		return ackAnswer{err: ctx.Err()}
	}
}
