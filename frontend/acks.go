package frontend

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// ackTimeout bounds the forwarding of an acknowledgement. A worker that waits for the answer repeats an unanswered one.
	ackTimeout = 2 * time.Second
	// acksAtOnce is how many acknowledgements are looked up at the same time.
	acksAtOnce = 128
)

// The forms of an acknowledgement.
var (
	ackWorking  = []byte("+WPI")
	ackNegative = []byte("-NAK")
	ackTerm     = []byte("+TERM")
	ackDone     = [][]byte{nil, []byte("+ACK"), []byte("+OK")}
)

// acks forwards the acknowledgements of untrusted workers, but only those for messages of their own queue. JetStream does not
// check whether an acknowledged message was ever delivered to the consumer: for any sequence that the consumer has passed, it
// removes the message from the stream, whoever owns it. So the account of an untrusted worker imports this subject, and its
// acknowledgements come here first.
type acks struct {
	*Frontend
	turns   chan struct{}
	running sync.WaitGroup
}

// passAcks forwards acknowledgements until stop is called. stop waits for those in progress.
func (f *Frontend) passAcks(ctx context.Context) (stop func(), err error) {
	a := &acks{Frontend: f, turns: make(chan struct{}, acksAtOnce)}
	subscription, err := f.config.Conn.QueueSubscribe(f.config.Names.WorkerAcks(), "frontend", func(ack *nats.Msg) { a.take(ctx, ack) })
	if err != nil {
		return nil, err
	}
	return func() {
		_ = subscription.Unsubscribe() // fails if the connection is closed
		a.running.Wait()
	}, nil
}

// take forwards an acknowledgement. One that leaves the message in the stream is harmless and is forwarded at once: a sign of
// life must not arrive after the acknowledgement that ends the attempt.
func (a *acks) take(ctx context.Context, ack *nats.Msg) {
	parsed, err := a.config.Names.ParseWorkerAck(ack.Subject)
	leaves := bytes.Equal(ack.Data, ackWorking) || bytes.HasPrefix(ack.Data, ackNegative)
	if err != nil || !a.mayAnswer(ack.Reply) || !leaves && !ends(ack.Data) {
		a.config.Logger.WarnContext(ctx, "acknowledgement of a worker is none", "subject", ack.Subject, "error", err)
		return
	}
	if leaves && ack.Reply == "" {
		a.warn(ctx, ack, a.config.Conn.Publish(parsed.Subject, ack.Data))
		return
	}
	a.turns <- struct{}{}
	a.running.Go(func() {
		defer func() { <-a.turns }()
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		a.warn(ctx, ack, a.pass(ctx, ack, parsed, leaves))
	})
}

func (a *acks) warn(ctx context.Context, ack *nats.Msg, err error) {
	if err != nil {
		a.config.Logger.WarnContext(ctx, "acknowledgement of a worker not passed on", "subject", ack.Subject, "error", err)
	}
}

// ends reports whether an acknowledgement takes the message out of the stream. Workers may not use the form that also asks for
// the next message.
func ends(data []byte) bool {
	for _, done := range ackDone {
		if bytes.Equal(data, done) {
			return true
		}
	}
	return bytes.HasPrefix(data, ackTerm)
}

var errForeignAck = errors.New("the message is not of the queue of the worker")

// pass forwards an acknowledgement, and returns its answer to the worker.
func (a *acks) pass(ctx context.Context, ack *nats.Msg, to subjects.WorkerAck, leaves bool) error {
	if !leaves {
		if err := a.mayEnd(ctx, to); err != nil {
			return err
		}
	}
	if ack.Reply == "" {
		return a.config.Conn.Publish(to.Subject, ack.Data)
	}
	answer, err := a.config.Conn.RequestWithContext(ctx, to.Subject, ack.Data)
	if err != nil {
		return err
	}
	return ack.Respond(answer.Data)
}

// mayEnd refuses an acknowledgement for a message of another queue. A message that is gone belongs to nobody, and acknowledging
// it frees its place with the consumer.
func (a *acks) mayEnd(ctx context.Context, to subjects.WorkerAck) error {
	if to.Sequence == 0 {
		return errForeignAck
	}
	message, err := bus.LeaderAt(ctx, a.config.JS, a.config.Names.ActionStream(), to.Sequence)
	switch {
	case errors.Is(err, bus.ErrNone):
		return nil
	case err != nil:
		return err
	case !strings.HasPrefix(message.Subject, to.Filter):
		return errForeignAck
	}
	return nil
}
