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

// Headers of delayed messages. HeaderScheduler and HeaderNext also stand on a message that was delayed, where they name
// the timer it came from: whoever copies headers of such a message into another must leave them out.
const (
	// HeaderAt says when to deliver.
	HeaderAt = "Nats-Schedule"
	// HeaderTarget is the subject to deliver on.
	HeaderTarget = "Nats-Schedule-Target"
	// HeaderScheduler names the timer a message came from, or removes.
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

// Every returns a message that JetStream, once it is stored, delivers on target again and again, until another replaces it or
// it is removed. Of what was missed while the server was away, one delivery is made up for. The interval is in whole seconds,
// and at least one. Both subjects must belong to the same stream.
func Every(timerSubject, target string, interval time.Duration) *nats.Msg {
	return &nats.Msg{Subject: timerSubject, Header: nats.Header{
		HeaderAt: {"@every " + interval.String()}, HeaderTarget: {target},
	}}
}

// PurgeHeader makes the message that bears h remove the timer on timerSubject in the step that stores it; where there
// is none the message is stored all the same. Both must go to the same stream. An empty timerSubject changes nothing.
func PurgeHeader(h nats.Header, timerSubject string) {
	if timerSubject == "" {
		return
	}
	h.Set(HeaderScheduler, timerSubject)
	h.Set(HeaderNext, nextPurge)
}

// NotAtOnce is for when a timer is armed that is to fire at a time. Where one has fired that late already, by the clock of NATS, and by that of
// this process the time has not come, the process is behind: the timer would fire at once, and again, until its clock has come as far.
// So it fires some time later, and the later the longer that goes on: from the least time to the most. That must not be long, since another
// process may be right about the time. It is a pure function; fired is zero where no timer has.
func NotAtOnce(at, fired, now time.Time, least, most time.Duration) time.Time {
	if fired.IsZero() || at.After(fired) || !now.Before(at) {
		return at
	}
	return fired.Add(min(max(fired.Sub(at), least), most))
}

// kindOf is which timer a subject is for, as metrics name it.
func kindOf(timerSubject string) string {
	kind := subjects.KindOfTimer(timerSubject)
	switch kind {
	case metrics.TimerDue, metrics.TimerGuard, metrics.TimerRetry, metrics.TimerBackfill, metrics.TimerTimeout:
		return kind
	}
	return metrics.TimerOther
}
