package topology

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/subjects"
)

// pulseOverdue is the age of the last pulse from which the start of a process arms it again: then it has stopped, or follows a
// clock that has been set back.
const pulseOverdue = 6 * subjects.PulseEvery

// pulse returns the timer that guards all other timers of a task stream.
//
// A NATS server has one timer of its own for each stream, which it sets for the earliest delayed message. It counts the time that
// the machine was awake. So the timer of a machine that was suspended, or whose clock was set forward, fires too late by just
// that much, and until then no message that comes in sets it anew. A stream that has something to deliver every few seconds has
// a timer that is never set for longer: when it fires, the server looks at the clock and delivers all that is due.
//
// The server repeats the pulse by itself. So it needs no owner among the processes, and works on whatever machine the server is.
func pulse(names subjects.Names, shard int) *nats.Msg {
	return task.Every(names.PulseTimer(shard), names.Pulse(shard), subjects.PulseEvery)
}

// taskPulses returns the pulses of all task streams, by the name of the stream.
func taskPulses(names subjects.Names, shards int) map[string]*nats.Msg {
	pulses := map[string]*nats.Msg{}
	for shard := range shards {
		pulses[names.TaskStream(shard)] = pulse(names, shard)
	}
	return pulses
}

// arm makes sure that a stream has its pulse; nil means that it has none. A failure stops no start: a full server accepts no
// message, but goes on with the pulse that it has.
func (b builder) arm(ctx context.Context, stream string, pulse *nats.Msg) {
	if pulse == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if !b.beats(ctx, stream, pulse) {
		_, _ = b.js.PublishMsg(ctx, pulse)
	}
}

// beats reports whether a stream has exactly this pulse, and it came recently or has just been armed.
func (b builder) beats(ctx context.Context, stream string, pulse *nats.Msg) bool {
	in, err := b.js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	armed, err := in.GetLastMsgForSubject(ctx, pulse.Subject)
	if err != nil {
		return false
	}
	for name := range pulse.Header {
		if armed.Header.Get(name) != pulse.Header.Get(name) {
			return false
		}
	}
	last, err := in.GetLastMsgForSubject(ctx, pulse.Header.Get(task.HeaderTarget))
	if err != nil {
		last = &jetstream.RawStreamMsg{}
	}
	return isFresh(in.CachedInfo().TimeStamp, armed.Time, last.Time)
}

// isFresh reports whether one of two times is near to now: when a pulse was armed, and when it last came. All times are by the clock of the
// server. A time in the future means that the clock has been set back.
func isFresh(now, armed, last time.Time) bool {
	return now.Sub(armed).Abs() < pulseOverdue || now.Sub(last).Abs() < pulseOverdue
}
