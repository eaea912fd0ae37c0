package worker

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of a dead letter. The body and the other headers are those of the message.
const (
	headerReason     = "Carillon-Reason"
	headerSubject    = "Carillon-Origin-Subject"
	headerStream     = "Carillon-Origin-Stream"
	headerSequence   = "Carillon-Origin-Sequence"
	headerDeliveries = "Carillon-Deliveries"
)

const (
	// deadLetterSource is where a worker's dead letters come from, the last token of their subject.
	deadLetterSource = "worker"
	// deadLetterRetry is when a message comes again that could not be made a dead letter.
	deadLetterRetry = 5 * time.Second
)

// deadLetter moves a message that nobody can run to the dead letter stream. It stays in the queue until that has it.
func (w *Worker) deadLetter(ctx context.Context, msg jetstream.Msg, meta *jetstream.MsgMetadata, reason error) {
	err := w.callOnce(ctx, func(ctx context.Context) error {
		_, err := w.js.PublishMsg(ctx, newDeadLetter(w.names.DeadLetter(deadLetterSource), msg, meta, reason))
		return err
	})
	if err != nil {
		w.log.Warn("dead letter not stored, will try again", keySubject, msg.Subject(), keyError, err)
		_ = msg.NakWithDelay(deadLetterRetry)
		return
	}
	w.log.Error("message is a dead letter", keySubject, msg.Subject(), keyReason, reason)
	_ = msg.TermWithReason("dead letter") // if it is lost, the repeat bears the same message ID
}

// newDeadLetter leaves out what the original's headers say to JetStream: it would be obeyed again.
func newDeadLetter(subject string, msg jetstream.Msg, meta *jetstream.MsgMetadata, reason error) *nats.Msg {
	letter := nats.NewMsg(subject)
	letter.Data = msg.Data()
	for name, values := range msg.Headers() {
		if !strings.HasPrefix(name, "Nats-") {
			letter.Header[name] = values
		}
	}
	sequence := strconv.FormatUint(meta.Sequence.Stream, 10)
	letter.Header.Set(nats.MsgIdHdr, meta.Stream+"-"+sequence)
	letter.Header.Set(headerReason, oneLine(reason.Error()))
	letter.Header.Set(headerSubject, msg.Subject())
	letter.Header.Set(headerStream, meta.Stream)
	letter.Header.Set(headerSequence, sequence)
	letter.Header.Set(headerDeliveries, strconv.FormatUint(meta.NumDelivered, 10))
	return letter
}

// oneLine makes a text fit for a header.
func oneLine(text string) string {
	return cut(strings.Join(strings.Fields(text), " "), maxMessageBytes)
}
