package loop

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// deadLetter moves a message to the dead letter stream. Until that has taken it the message stays where it is: it is
// given back when the stream does not answer.
func (l *Loop[M]) deadLetter(ctx context.Context, raw jetstream.Msg, cause error) {
	meta, err := raw.Metadata()
	if err != nil {
		l.config.Logger.ErrorContext(ctx, "message is not from a stream", "subject", raw.Subject(), "error", err)
		return
	}
	conn := l.config.JS.Conn()
	letter := deadletter.New(l.config.Names.DeadLetter(l.config.Pool), raw, meta, cause, conn.MaxPayload())
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
