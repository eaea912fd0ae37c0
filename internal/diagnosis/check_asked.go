package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

// fullHand is how many messages the processes of a pool have at least when one of them may have all it can hold. It asks for no
// more then. One that has fewer always asks.
const fullHand = 256

// checkAsked judges a pool for whose tasks nobody asks on some shards; nil means that all is well. Messages of a process that is
// gone count as in hand until another takes them.
func checkAsked(pool string, state *poolState, tasks string) *Check {
	start := fmt.Sprintf("start one: carillon %s, or carillon server", pool)
	var c Check
	switch nobody := len(state.unasked) == state.consumers; {
	case len(state.unasked) == 0:
		return nil
	case state.held >= fullHand:
		c = notOK(pool, Warning, "nobody asks for more tasks of "+listed(state.unasked)+"; "+tasks,
			"look again in a minute: the processes of the pool have all they can hold and do not get on, or are gone; see their log")
	case nobody && state.held == 0:
		c = notOK(pool, Failed, "no process of the pool is there; "+tasks, start)
	case nobody:
		c = notOK(pool, Failed, "nobody asks for the tasks of the pool; "+tasks+" of processes that are gone, or hang",
			start+"; see the log of those that run for errors")
	default:
		c = notOK(pool, Warning, "nobody asks for the tasks of "+listed(state.unasked)+"; "+tasks,
			"look again in a minute; if it stays so, restart the processes of the pool")
	}
	return &c
}

// pulseOverdue is for how long no timer of a stream may have fired. One does every few seconds.
const pulseOverdue = 6 * subjects.PulseEvery

// checkTimers looks whether NATS delivers delayed messages: each task stream has one again and again, for that.
func checkTimers(f *Facts) Check {
	now := f.Time.Add(f.NATS.Skew)
	var silent, ahead []string
	var oldest time.Time
	for i := range f.Streams {
		s := &f.Streams[i]
		switch age := now.Sub(s.Pulse); {
		case s.Pulse.IsZero():
		case age >= pulseOverdue:
			silent = append(silent, s.title())
			if oldest.IsZero() || s.Pulse.Before(oldest) {
				oldest = s.Pulse
			}
		case age <= -pulseOverdue:
			ahead = append(ahead, s.title())
		}
	}
	const next = "see the log of the NATS server that leads the stream, and restart that server. If its clock has just been set: " +
		"restart a process of Carillon"
	switch {
	case len(silent) > 0:
		return notOK("timers", Failed, fmt.Sprintf("no timer has fired for %s: %s", ageText(now, oldest), listed(silent)), next)
	case len(ahead) > 0:
		return notOK("timers", Warning, "they have fired by a clock that was ahead of the one now: "+listed(ahead), next)
	}
	return ok("timers", "fire on time")
}
