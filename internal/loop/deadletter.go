package loop

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of a dead letter. The body and the other headers are those of the message that failed.
const (
	HeaderReason     = "Carillon-Reason"
	HeaderSubject    = "Carillon-Origin-Subject"
	HeaderStream     = "Carillon-Origin-Stream"
	HeaderSequence   = "Carillon-Origin-Sequence"
	HeaderDeliveries = "Carillon-Deliveries"
)

// deadLetter moves a message to the dead letter stream. Until that has taken it the message stays where it is: it is
// given back when the stream does not answer.
func (l *Loop[M]) deadLetter(ctx context.Context, raw jetstream.Msg, cause error) {
	meta, err := raw.Metadata()
	if err != nil {
		l.config.Logger.ErrorContext(ctx, "message is not from a stream", "subject", raw.Subject(), "error", err)
		return
	}
	letter := nats.NewMsg(l.config.Names.DeadLetter(l.config.Pool))
	letter.Data = raw.Data()
	for name, values := range raw.Headers() {
		if len(name) < 5 || name[:5] != "Nats-" {
			letter.Header[name] = values
		}
	}
	sequence := strconv.FormatUint(meta.Sequence.Stream, 10)
	letter.Header.Set(HeaderReason, cause.Error())
	letter.Header.Set(HeaderSubject, raw.Subject())
	letter.Header.Set(HeaderStream, meta.Stream)
	letter.Header.Set(HeaderSequence, sequence)
	letter.Header.Set(HeaderDeliveries, strconv.FormatUint(meta.NumDelivered, 10))

	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// The ID makes a repeat of this very step harmless.
	if _, err := l.config.JS.PublishMsg(ctx, letter, jetstream.WithMsgID(meta.Stream+"-"+sequence)); err != nil {
		l.config.Logger.WarnContext(ctx, "dead letter not stored, will try again", "subject", raw.Subject(), "error", err)
		l.giveBackLater(raw, meta.NumDelivered)
		return
	}
	l.metrics.settled("dead_letter")
	l.config.Logger.ErrorContext(ctx, "message is a dead letter", "subject", raw.Subject(), "reason", cause)
	if err := raw.TermWithReason("dead letter"); err != nil {
		l.config.Logger.Debug("terminate", "subject", raw.Subject(), "error", err)
	}
}
