package invoker

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// countEvery is how often a process counts the runs of a namespace, at most.
	countEvery = 250 * time.Millisecond
	// publishTime is how long it takes to publish the runs of starts that may begin, at most, as a rule.
	publishTime = 5 * time.Second
	// tooMany is more runs than any limit allows.
	tooMany = math.MaxInt32
)

// pending is what a process knows of how many runs of a namespace are queued or in progress: what it has counted last, and
// what it has admitted since. Other processes admit as well in between.
type pending struct {
	turn     chan struct{} // held by who looks at the rest, or counts
	counted  int
	at       time.Time
	admitted []*admission
}

// admission is so many starts, and until when their runs may not be among those that are counted, in nanoseconds since 1970.
type admission struct {
	starts int
	until  atomic.Int64
}

func newAdmission(starts int, until time.Time) *admission {
	a := &admission{starts: starts}
	a.until.Store(until.UnixNano())
	return a
}

// take admits as many of some starts as a limit leaves room for, and returns how many. Done is to be called when their runs
// have been published.
func (p *pending) take(
	ctx context.Context, t *throttle, namespace string, limit, starts int,
) (admitted int, done func()) {
	done = func() {}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, done
	}
	defer func() { <-p.turn }()
	now := t.now()
	if now.Sub(p.at).Abs() >= countEvery {
		p.count(ctx, t, namespace)
		p.at = now
		p.admitted = slices.DeleteFunc(p.admitted, func(a *admission) bool { return a.until.Load() < now.UnixNano() })
	}
	room := limit - p.counted
	for _, a := range p.admitted {
		room -= a.starts
	}
	starts = max(min(starts, room), 0)
	if starts > 0 {
		a := newAdmission(starts, now.Add(publishTime))
		p.admitted = append(p.admitted, a)
		done = func() { a.until.Store(t.now().UnixNano()) }
	}
	return starts, done
}

func (p *pending) count(ctx context.Context, t *throttle, namespace string) {
	count, err := t.bus.Subjects(ctx, t.names.ActionStream(), t.names.Actions(namespace))
	if err != nil {
		t.log.WarnContext(ctx, "starts wait: the runs of their namespace cannot be counted", "namespace", namespace, "error", err)
		count = tooMany
	}
	p.counted = count
}

// promised notes that admitted starts begin later, at some times.
func (p *pending) promised(slots []time.Time, now time.Time) {
	if len(slots) == 0 || !slots[len(slots)-1].After(now) {
		return
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.admitted = append(p.admitted, newAdmission(len(slots), slots[len(slots)-1].Add(time.Second)))
}
