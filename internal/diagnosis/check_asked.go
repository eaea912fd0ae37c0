package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

// fullHand is the least number of messages that the processes of a pool have when one of them may have all it can hold. Such a
// process does not ask for more. One that has fewer always asks.
const fullHand = 256

// checkAsked judges a pool that does not ask for tasks on some shards; nil means that all is well. Messages of a process that is
// gone count as in hand until another process receives them.
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

// pulseOverdue is the longest time in which no timer of a stream may fire. One should fire every few seconds.
const pulseOverdue = 6 * subjects.PulseEvery

// checkTimers checks whether NATS delivers delayed messages. Each task stream regularly has one, for this check.
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
