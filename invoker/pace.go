package invoker

import (
	"math"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

const (
	// paceHorizon is how far ahead starts are promised. Later starts must ask again. So if a limit is raised, no start waits for hours
	// under the old one.
	paceHorizon = 20 * time.Second
	// paceBurst is how much unused time may still be used. It makes up for timers, which fire late by about that much.
	paceBurst = 250 * time.Millisecond
	// paceTurn bounds how many starts a schedule is promised at once: as many as the rate allows in this time. Then it is the turn of
	// others.
	paceTurn = 250 * time.Millisecond
	// staleSlot is how old a promised time may be before it is void. Without this, all starts of an outage would come at once.
	staleSlot = 10 * time.Second
	// paceSkew is how far ahead of this clock the clock of another process may be.
	paceSkew = 5 * time.Second
)

// turn is how many starts a schedule may ask for at once under a rate.
func turn(rate float64) int {
	return int(min(max(math.Ceil(rate*paceTurn.Seconds()), 1), RoundLimit))
}

// promise gives times to count starts, one after the other, at a rate in starts per second. It gives fewer if the others would be beyond
// the horizon. In any period, the number of starts is at most what the rate allows in the period plus paceBurst, plus one. It is a pure
// function; other processes continue with the record that it returns.
func promise(record wire.StartRate, rate float64, count int, now time.Time) (wire.StartRate, []time.Time) {
	now = now.Round(0) // wall clock time, because other processes use it
	next, end, step := paced(record, rate, now), now.Add(paceHorizon), stepOf(rate)
	var slots []time.Time
	for len(slots) < count && next.Before(end) {
		slots = append(slots, next)
		next = next.Add(step)
	}
	return wire.StartRate{Next: next.UTC(), Rate: rate}, slots
}

// paced returns when the next start may begin. If the rate has changed, the starts promised so far are spaced at the new rate. A recorded
// time that is further ahead than any correct clock allows is ignored.
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

// slowest is the longest step between two starts; a lower rate has no practical use.
const slowest = 365 * 24 * time.Hour

// stepOf returns the time between two starts at a rate.
func stepOf(rate float64) time.Duration {
	if rate*slowest.Seconds() <= 1 {
		return slowest
	}
	return time.Duration(float64(time.Second) / rate)
}
