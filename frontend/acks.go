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
	// ackTimeout bounds the passing on of an acknowledgement. Workers that want to know repeat one that is not answered.
	ackTimeout = 2 * time.Second
	// acksAtOnce is how many acknowledgements are looked up side by side.
	acksAtOnce = 128
)

// What an acknowledgement may say.
var (
	ackWorking  = []byte("+WPI")
	ackNegative = []byte("-NAK")
	ackTerm     = []byte("+TERM")
	ackDone     = [][]byte{nil, []byte("+ACK"), []byte("+OK")}
)

// acks passes on what workers acknowledge that are not trusted. JetStream does not ask whether what is acknowledged was ever given to
// the consumer: at any sequence that this one has come past, the message goes out of the stream, whosever it is. In the account of such a
// worker, an import brings its acknowledgements here. They are passed on for messages of its own queue.
type acks struct {
	*Frontend
	turns   chan struct{}
	running sync.WaitGroup
}

// passAcks passes acknowledgements on until it is told to stop, which waits for those that are on their way.
func (f *Frontend) passAcks(ctx context.Context) (stop func(), err error) {
	a := &acks{Frontend: f, turns: make(chan struct{}, acksAtOnce)}
	subscription, err := f.config.Conn.QueueSubscribe(f.config.Names.WorkerAcks(), "frontend", func(ack *nats.Msg) { a.take(ctx, ack) })
	if err != nil {
		return nil, err
	}
	return func() {
		_ = subscription.Unsubscribe() // it fails if the connection is closed
		a.running.Wait()
	}, nil
}

// take passes an acknowledgement on. What leaves the message in the stream is harmless, and goes on at once: a sign of life must not
// arrive behind what ends the attempt.
func (a *acks) take(ctx context.Context, ack *nats.Msg) {
	parsed, err := a.config.Names.ParseWorkerAck(ack.Subject)
	leaves := bytes.Equal(ack.Data, ackWorking) || bytes.HasPrefix(ack.Data, ackNegative)
	if err != nil || !a.mayAnswer(ack.Reply) || !leaves && !ends(ack.Data) {
		a.config.Logger.WarnContext(ctx, "acknowledgement of a worker is none", "subject", ack.Subject, "error", err)
		return
	}
	if leaves && ack.Reply == "" {
		if err := a.config.Conn.Publish(parsed.Subject, ack.Data); err != nil {
			a.config.Logger.WarnContext(ctx, "acknowledgement of a worker not passed on", "subject", ack.Subject, "error", err)
		}
		return
	}
	a.turns <- struct{}{}
	a.running.Go(func() {
		defer func() { <-a.turns }()
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		if err := a.pass(ctx, ack, parsed, leaves); err != nil {
			a.config.Logger.WarnContext(ctx, "acknowledgement of a worker not passed on", "subject", ack.Subject, "error", err)
		}
	})
}

// ends reports whether an acknowledgement takes the message out of the stream. To ask for the next one by it is not for workers.
func ends(data []byte) bool {
	for _, done := range ackDone {
		if bytes.Equal(data, done) {
			return true
		}
	}
	return bytes.HasPrefix(data, ackTerm)
}

var errForeignAck = errors.New("the message is not of the queue of the worker")

// pass passes an acknowledgement on, and its answer back.
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

// mayEnd refuses to acknowledge a message that is of another queue. One that is gone is nobody's, and its acknowledgement frees its place
// with the consumer.
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
