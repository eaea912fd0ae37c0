package invoker

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// countEvery is the minimum time between two counts of a namespace's runs by a process.
	countEvery = 250 * time.Millisecond
	// publishTime is the usual maximum time to publish the runs of admitted starts.
	publishTime = 5 * time.Second
	// tooMany is more runs than any limit allows.
	tooMany = math.MaxInt32
)

// pending is what a process knows about the number of queued and running runs of a namespace: its last count, and what it has admitted
// since. Other processes admit starts as well in between.
type pending struct {
	turn     chan struct{} // held while somebody reads or writes the other fields, or counts
	counted  int
	at       time.Time
	admitted []*admission
}

// admission is a number of admitted starts, and the time until which a count may miss their runs, in nanoseconds since 1970.
type admission struct {
	starts int
	until  atomic.Int64
}

func newAdmission(starts int, until time.Time) *admission {
	a := &admission{starts: starts}
	a.until.Store(until.UnixNano())
	return a
}

// take admits as many starts as the limit leaves room for, and returns how many. The caller calls done when their runs have been published.
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

// promised notes that admitted starts begin later, at the given times.
func (p *pending) promised(slots []time.Time, now time.Time) {
	if len(slots) == 0 || !slots[len(slots)-1].After(now) {
		return
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.admitted = append(p.admitted, newAdmission(len(slots), slots[len(slots)-1].Add(time.Second)))
}
