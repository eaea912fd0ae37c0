package invoker

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// askAgain is about how soon a start asks again that waits for runs to end or for an unknown limit.
const askAgain = time.Second

// throttle decides which starts the limits of their namespaces have room for. If it cannot find that out, there is no room: a limit
// protects others, most of all when something is wrong, and a waiting start is not lost. It is safe for concurrent use.
type throttle struct {
	store *kv.Store
	bus   bus.Bus
	names subjects.Names
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	lanes map[string]*lane // of the namespaces with limits
}

// lane is what a throttle knows about one namespace.
type lane struct {
	pace    pace
	pending pending
}

func newThrottle(config *pool.Config) *throttle {
	return &throttle{
		store: config.Store, bus: config.Bus, names: config.Names, log: config.Logger, now: config.Now, lanes: map[string]*lane{},
	}
}

// roomless returns the room of a schedule that has not asked; nil if its namespace has no limit.
func roomless(limits *schedule.NamespaceLimits) *Room {
	switch {
	case limits.ActionsPerSecond > 0:
		return &Room{DelayedBy: schedule.DelayActionRate}
	case limits.MaxPendingRuns > 0:
		return &Room{DelayedBy: schedule.DelayPendingRuns}
	}
	return nil
}

// ask asks for room for starts of a schedule. The caller calls done when the starts that may begin at once have been published.
func (t *throttle) ask(
	ctx context.Context, key schedule.Key, limits *schedule.NamespaceLimits, starts int,
) (room *Room, done func()) {
	done = func() {}
	l, rate := t.lane(key.Namespace), limits.ActionsPerSecond
	starts = min(starts, RoundLimit)
	if rate > 0 {
		starts = min(starts, turn(rate))
	}
	if limit := limits.MaxPendingRuns; limit > 0 {
		starts, done = l.pending.take(ctx, t, key.Namespace, limit, min(starts, max(limit/4, 1)))
	}
	if rate == 0 || starts == 0 {
		return pendingRoom(key, starts, t.now()), done
	}
	slots, err := l.pace.take(ctx, t, key.Namespace, rate, starts)
	now := t.now()
	if err != nil {
		t.log.WarnContext(ctx, "starts wait: the rate of their namespace cannot be looked up", "namespace", key.Namespace, "error", err)
		return &Room{Asked: true, DelayedBy: schedule.DelayActionRate, AskAt: soon(key, now)}, done
	}
	if limits.MaxPendingRuns > 0 {
		l.pending.promised(slots, now)
	}
	return pacedRoom(key, slots, now), done
}

// pendingRoom returns the room of a schedule after runs of it have been admitted. If some were admitted, it may ask again at once.
func pendingRoom(key schedule.Key, admitted int, now time.Time) *Room {
	room := &Room{Asked: true, DelayedBy: schedule.DelayPendingRuns, Slots: slices.Repeat([]time.Time{now}, admitted), AskAt: now}
	if admitted == 0 {
		room.AskAt = soon(key, now)
	}
	return room
}

// pacedRoom returns the room of a schedule that was promised slots. It asks again when half of the slots are over, or, without slots, when
// there may be some.
func pacedRoom(key schedule.Key, slots []time.Time, now time.Time) *Room {
	room := &Room{Asked: true, DelayedBy: schedule.DelayActionRate, Slots: slots}
	if len(slots) > 0 {
		room.AskAt = slots[len(slots)/2]
	} else {
		room.AskAt = now.Add(spread(key, now, paceHorizon/2, paceHorizon/2))
	}
	return room
}

// soon returns a time in about a second.
func soon(key schedule.Key, now time.Time) time.Time {
	return now.Add(spread(key, now, askAgain*3/4, askAgain/2))
}

func (t *throttle) lane(namespace string) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lanes[namespace] == nil {
		t.lanes[namespace] = &lane{pace: pace{turn: make(chan struct{}, 1)}, pending: pending{turn: make(chan struct{}, 1)}}
	}
	return t.lanes[namespace]
}

// spread returns a duration of at least least, and less than more beyond it. It differs for each schedule and each second. Otherwise, all
// that wait for something would come back at once.
func spread(key schedule.Key, now time.Time, least, more time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key.String()))
	_, _ = h.Write(strconv.AppendInt(nil, now.Unix(), 10))
	return least + time.Duration(h.Sum64()%uint64(more))
}

// pace assigns times to the starts of a namespace in this process. While one caller talks to NATS, the others queue; the next one then
// serves all of them together.
type pace struct {
	turn chan struct{} // held by the caller that serves

	mu      sync.Mutex
	waiting []*paceAsk
	record  kv.Record[wire.StartRate] // as last known; owned by the caller that serves
}

// paceAsk is a request. The other fields are the answer, owned by the serving caller until served.
type paceAsk struct {
	starts int
	served bool
	slots  []time.Time
	err    error
}

// take returns the times at which the starts may begin, in order. It returns fewer, or none, if the others are too far in the future.
func (p *pace) take(ctx context.Context, t *throttle, namespace string, rate float64, starts int) ([]time.Time, error) {
	ask := &paceAsk{starts: starts}
	p.mu.Lock()
	p.waiting = append(p.waiting, ask)
	p.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.turn }()
	if !ask.served {
		p.serve(ctx, t, namespace, rate)
	}
	return ask.slots, ask.err
}

// maxConflicts is how often in a row another process may win. In each conflict, one process succeeds.
const maxConflicts = 20

// serve answers all waiting callers.
func (p *pace) serve(ctx context.Context, t *throttle, namespace string, rate float64) {
	p.mu.Lock()
	asks := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	starts := 0
	for _, ask := range asks {
		starts += ask.starts
	}
	slots, err := p.promise(ctx, t, namespace, rate, starts)
	for _, ask := range asks {
		n := min(ask.starts, len(slots))
		ask.slots, slots = slots[:n:n], slots[n:]
		ask.err, ask.served = err, true
	}
}

// promise takes slots in the record that all processes share.
func (p *pace) promise(
	ctx context.Context, t *throttle, namespace string, rate float64, starts int,
) (slots []time.Time, err error) {
	for try := range maxConflicts {
		if try > 0 {
			if p.record, err = kv.OrZero(kv.GetLeader(ctx, t.store, kv.StartRate(namespace))); err != nil {
				return nil, err
			}
		}
		record, slots := promise(p.record.Value, rate, starts, t.now())
		if len(slots) == 0 {
			return nil, nil
		}
		revision, err := kv.Put(ctx, t.store, kv.StartRate(namespace), &record, p.record.Revision)
		if err == nil {
			p.record = kv.Record[wire.StartRate]{Value: record, Revision: revision}
			return slots, nil
		}
		if !errors.Is(err, kv.ErrConflict) {
			return nil, err
		}
	}
	return nil, kv.ErrConflict
}
