package task

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Headers of delayed messages. HeaderScheduler and HeaderNext are also on a delivered message, where they name its timer. Whoever copies
// the headers of such a message into another must leave these two out.
const (
	// HeaderAt says when to deliver.
	HeaderAt = "Nats-Schedule"
	// HeaderTarget is the subject to deliver on.
	HeaderTarget = "Nats-Schedule-Target"
	// HeaderScheduler names the timer that a message came from, or that it removes.
	HeaderScheduler = "Nats-Scheduler"
	// HeaderNext says what becomes of that timer.
	HeaderNext = "Nats-Schedule-Next"

	nextPurge = "purge"
)

// Publisher stores a message and returns when its stream has acknowledged it.
type Publisher interface {
	Publish(ctx context.Context, msg *nats.Msg) error
}

// ArmMessage is [Arm] for a caller that has the body and a header: it stores a message that will be delivered on target at the given
// time, and returns once it is stored. It replaces whatever waits on timerSubject. Both subjects must belong to the same stream. A time
// in the past means now.
//
// The header goes with the message and is not changed. Of what it says to JetStream only a message ID counts, for the
// storing; it does not reach the target.
func ArmMessage(ctx context.Context, to Publisher, timerSubject, target string, at time.Time, header nats.Header, body []byte) error {
	if err := to.Publish(ctx, Delayed(timerSubject, target, at, header, body)); err != nil {
		return fmt.Errorf("task: arm %s: %w", timerSubject, err)
	}
	metrics.TimersArmed.Add(ctx, 1, kindOf(timerSubject))
	return nil
}

// Delayed returns what ArmMessage publishes, for callers that publish many and wait for them together.
func Delayed(timerSubject, target string, at time.Time, header nats.Header, body []byte) *nats.Msg {
	h := maps.Clone(header)
	if h == nil {
		h = nats.Header{}
	}
	// Not jetstream.WithScheduleAt: it cuts the fraction of the second.
	h.Set(HeaderAt, "@at "+at.UTC().Format(time.RFC3339Nano))
	h.Set(HeaderTarget, target)
	return &nats.Msg{Subject: timerSubject, Header: h, Data: body}
}

// Every returns a message that, once stored, JetStream delivers on target repeatedly, until another message replaces it or it is removed.
// After an outage of the server, one missed delivery is made up for. The interval is in whole seconds, and at least one. Both subjects must
// belong to the same stream.
func Every(timerSubject, target string, interval time.Duration) *nats.Msg {
	return &nats.Msg{Subject: timerSubject, Header: nats.Header{
		HeaderAt: {"@every " + interval.String()}, HeaderTarget: {target},
	}}
}

// PurgeHeader makes the message with the header h remove the timer on timerSubject in the step that stores the message. If there is no
// timer, the message is stored nevertheless. Both subjects must belong to the same stream. An empty timerSubject changes nothing.
func PurgeHeader(h nats.Header, timerSubject string) {
	if timerSubject == "" {
		return
	}
	h.Set(HeaderScheduler, timerSubject)
	h.Set(HeaderNext, nextPurge)
}

// NotAtOnce returns the time for which to arm a timer that should fire at a given time. Usually that is the same time. But suppose that a
// timer has already fired that late by the clock of NATS, while the time has not come by the clock of this process. Then this process is
// behind, and a new timer would fire at once, again and again, until its clock catches up. So NotAtOnce postpones it, by more the longer
// that goes on: from least to most. most must not be long, since another process may have the right time. It is a pure function; fired is
// zero if no timer has fired.
func NotAtOnce(at, fired, now time.Time, least, most time.Duration) time.Time {
	if fired.IsZero() || at.After(fired) || !now.Before(at) {
		return at
	}
	return fired.Add(min(max(fired.Sub(at), least), most))
}

// kindOf returns the kind of timer of a subject, as metrics name it.
func kindOf(timerSubject string) string {
	kind := subjects.KindOfTimer(timerSubject)
	switch kind {
	case metrics.TimerDue, metrics.TimerGuard, metrics.TimerRetry, metrics.TimerBackfill, metrics.TimerTimeout, metrics.TimerExecution:
		return kind
	}
	return metrics.TimerOther
}
