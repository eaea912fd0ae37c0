package invoker

import (
	"math"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

const (
	// paceHorizon is how far ahead starts are promised. What is beyond has to ask again, so that a limit that is raised does
	// not find starts that wait for hours.
	paceHorizon = 20 * time.Second
	// paceBurst is how much of what nobody has used may still be used. It makes up for timers, which are late by so much.
	paceBurst = 250 * time.Millisecond
	// paceTurn is how many starts a schedule is promised at once, as a time in which they may start: then it is the turn of
	// others.
	paceTurn = 250 * time.Millisecond
	// staleSlot is after how long a time that was promised is void: else all starts of an outage would come at once.
	staleSlot = 10 * time.Second
	// paceSkew is how far ahead of this clock the clock of another process may be.
	paceSkew = 5 * time.Second
)

// turn is how many starts a schedule may ask for at once under a rate.
func turn(rate float64) int {
	return int(min(max(math.Ceil(rate*paceTurn.Seconds()), 1), RoundLimit))
}

// promise gives times to count starts, one after the other at a rate in starts for each second, and fewer where they would be
// beyond the horizon. In any stretch of time there are no more than the rate allows in it and paceBurst, and one. It is a pure
// function; other processes go on with the record it returns.
func promise(record wire.StartRate, rate float64, count int, now time.Time) (wire.StartRate, []time.Time) {
	now = now.Round(0) // others go by the clock on the wall
	next, end, step := paced(record, rate, now), now.Add(paceHorizon), stepOf(rate)
	var slots []time.Time
	for len(slots) < count && next.Before(end) {
		slots = append(slots, next)
		next = next.Add(step)
	}
	return wire.StartRate{Next: next.UTC(), Rate: rate}, slots
}

// paced is when the next start may be. Where the rate has changed, as many starts as have been promised are waited for at the
// new one. A time that no clock can have given is that of a clock which was wrong.
func paced(record wire.StartRate, rate float64, now time.Time) time.Time {
	ahead := record.Next.Sub(now)
	switch {
	case ahead > paceHorizon+stepOf(record.Rate)+paceSkew:
		return now
	case ahead < -paceBurst:
		return now.Add(-paceBurst)
	case ahead > 0 && record.Rate > 0 && record.Rate != rate:
		scaled := ahead.Seconds() * record.Rate / rate
		ahead = time.Duration(min(scaled, (paceHorizon+stepOf(rate)).Seconds()) * float64(time.Second))
	}
	return now.Add(ahead)
}

// slowest is the longest step between two starts; a rate below that is as good as none.
const slowest = 365 * 24 * time.Hour

// stepOf is how long after another a start comes at a rate.
func stepOf(rate float64) time.Duration {
	if rate*slowest.Seconds() <= 1 {
		return slowest
	}
	return time.Duration(float64(time.Second) / rate)
}
