package loop

import (
	"context"
	"strconv"
	"strings"
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
	// HeaderSize is the size of the whole body, where it was cut because the letter would be larger than NATS allows.
	HeaderSize = "Carillon-Origin-Size"
)

// maxReason bounds the reason, in bytes: a panic may carry anything.
const maxReason = 1024

// deadLetter moves a message to the dead letter stream. Until that has taken it the message stays where it is: it is
// given back when the stream does not answer.
func (l *Loop[M]) deadLetter(ctx context.Context, raw jetstream.Msg, cause error) {
	meta, err := raw.Metadata()
	if err != nil {
		l.config.Logger.ErrorContext(ctx, "message is not from a stream", "subject", raw.Subject(), "error", err)
		return
	}
	letter := l.letter(raw, meta, cause)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := l.config.JS.PublishMsg(ctx, letter); err != nil {
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

// letter is the message for the dead letter stream.
func (l *Loop[M]) letter(raw jetstream.Msg, meta *jetstream.MsgMetadata, cause error) *nats.Msg {
	letter := nats.NewMsg(l.config.Names.DeadLetter(l.config.Pool))
	letter.Data = raw.Data()
	for name, values := range raw.Headers() {
		if !strings.HasPrefix(name, "Nats-") { // they would mean something to the stream
			letter.Header[name] = values
		}
	}
	reason, sequence := cause.Error(), strconv.FormatUint(meta.Sequence.Stream, 10)
	letter.Header.Set(HeaderReason, reason[:min(len(reason), maxReason)])
	letter.Header.Set(HeaderSubject, raw.Subject())
	letter.Header.Set(HeaderStream, meta.Stream)
	letter.Header.Set(HeaderSequence, sequence)
	letter.Header.Set(HeaderDeliveries, strconv.FormatUint(meta.NumDelivered, 10))
	letter.Header.Set(nats.MsgIdHdr, meta.Stream+"-"+sequence) // makes a repeat of this very step harmless
	l.cut(letter)
	return letter
}

// cut shortens a letter that is larger than NATS allows: the message filled the limit, and has got headers on top.
func (l *Loop[M]) cut(letter *nats.Msg) {
	const slack = 64 // for the header that says so
	excess := int64(letter.Size()) - l.config.JS.Conn().MaxPayload()
	if excess <= 0 {
		return
	}
	letter.Header.Set(HeaderSize, strconv.Itoa(len(letter.Data)))
	letter.Data = letter.Data[:max(len(letter.Data)-int(excess)-slack, 0)]
}
