package loop

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// eventWait is how long the event of a dead letter waits for the event stream.
const eventWait = 2 * time.Second

// deadLetter moves a message to the dead letter stream. The message stays in its stream until the dead letter stream has stored it. If that
// stream does not answer, the message is given back.
func (l *Loop[M]) deadLetter(work context.Context, raw jetstream.Msg, cause error) {
	meta, err := raw.Metadata()
	if err != nil {
		l.config.Logger.ErrorContext(work, "message is not from a stream", "subject", raw.Subject(), "error", err)
		return
	}
	subject, draft := l.config.Names.DeadLetter(l.config.Pool), deadletter.New
	size := len(raw.Data()) + sizeOf(raw.Headers())
	theirs, reported := l.config.Names.CompletionDeadLetter(raw.Subject(), size)
	if reported {
		subject, draft = theirs, deadletter.NewPlain
	}
	letter := draft(subject, raw, meta, cause, l.config.Bus.MaxPayload())
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
		l.config.Logger.DebugContext(ctx, "terminate", "subject", raw.Subject(), "error", err)
	}
	l.announce(work, letter, reported)
}

// announce writes the event of a letter into the history of its schedule. It does so in the background, and gives up if the event stream
// does not answer, because the letter is what counts. For messages from workers, the number of events is limited.
func (l *Loop[M]) announce(work context.Context, letter *nats.Msg, reported bool) {
	event, ok := deadletter.Event(l.config.Names, letter, l.config.Now())
	if !ok || reported && !l.mayTell(event.Namespace) {
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

// sizeOf returns the approximate size of headers in bytes.
func sizeOf(header nats.Header) (bytes int) {
	for name, values := range header {
		for _, value := range values {
			bytes += len(name) + len(value)
		}
	}
	return bytes
}

const (
	// tellBurst is how many letters about completions of a namespace get an event at once; after that, one more does every tellEvery. A
	// worker can send unreadable messages as fast as it likes, and events are kept for a month.
	tellBurst = 1000
	tellEvery = 10 * time.Second
	// tellNamespaces is for how many namespaces a process remembers this.
	tellNamespaces = 1000
)

// mayTell reports whether another letter about a completion of a namespace may get an event.
func (l *Loop[M]) mayTell(namespace string) bool {
	l.tellMu.Lock()
	defer l.tellMu.Unlock()
	told := l.told[namespace]
	if told == nil {
		if len(l.told) >= tellNamespaces {
			clear(l.told)
		}
		told = rate.NewLimiter(rate.Every(tellEvery), tellBurst)
		l.told[namespace] = told
	}
	return told.AllowN(l.config.Now(), 1)
}
