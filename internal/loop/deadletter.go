package loop

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// eventWait is how long the event of a dead letter waits for the event stream.
const eventWait = 2 * time.Second

// deadLetter moves a message to the dead letter stream. Until that has taken it the message stays where it is: it is
// given back when the stream does not answer.
func (l *Loop[M]) deadLetter(work context.Context, raw jetstream.Msg, cause error) {
	meta, err := raw.Metadata()
	if err != nil {
		l.config.Logger.ErrorContext(work, "message is not from a stream", "subject", raw.Subject(), "error", err)
		return
	}
	letter := deadletter.New(l.config.Names.DeadLetter(l.config.Pool), raw, meta, cause, l.config.Bus.MaxPayload())
	ctx, cancel := context.WithTimeout(work, 5*time.Second)
	defer cancel()
	if err := l.config.Bus.Publish(ctx, letter); err != nil {
		l.config.Logger.WarnContext(ctx, "dead letter not stored, will try again", "subject", raw.Subject(), "error", err)
		l.giveBackLater(raw, meta.NumDelivered)
		return
	}
	l.metrics.settled(deadLettered)
	l.config.Logger.ErrorContext(ctx, "message is a dead letter", "subject", raw.Subject(), "reason", cause)
	if err := raw.TermWithReason("dead letter"); err != nil {
		l.config.Logger.Debug("terminate", "subject", raw.Subject(), "error", err)
	}
	l.announce(work, letter)
}

// announce writes the event of a letter into the history of its schedule. That happens beside the work, and not at all
// when the event stream does not answer: the letter is what counts.
func (l *Loop[M]) announce(work context.Context, letter *nats.Msg) {
	event, ok := deadletter.Event(l.config.Names, letter, l.config.Now())
	if !ok {
		return
	}
	l.running.Go(func() {
		ctx, cancel := context.WithTimeout(work, eventWait)
		defer cancel()
		if err := l.events.Publish(ctx, event); err != nil {
			l.config.Logger.WarnContext(ctx, "dead letter not in the event history", "namespace", event.Namespace,
				"schedule_id", event.ScheduleID, "event_id", event.ID, "error", err)
		}
	})
}
