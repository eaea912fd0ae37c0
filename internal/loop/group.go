package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// group holds the messages of one schedule: those that wait or are held, and those that are being handled.
type group[M any] struct {
	items   []*item[M] // waiting or held
	working []*item[M] // being handled
	since   time.Time  // when handling began
	busy    bool
	hold    *time.Timer // set while items are held
	holds   int         // counts the holds, to tell an old timer from the current one
	resting bool        // hold ends a rest
}

func (g *group[M]) take() []*item[M] {
	items := g.items
	g.items = nil
	return items
}

func (g *group[M]) cancelHold() {
	g.holds++
	g.resting = false
	if g.hold != nil {
		g.hold.Stop()
		g.hold = nil
	}
}

// add puts a message into its group and makes sure that the group is handled. Held messages of the group are handled along with it.
func (l *Loop[M]) add(work context.Context, it *item[M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping {
		l.returnItems([]*item[M]{it})
		return
	}
	g := l.groups[it.Task.Key]
	if g == nil {
		g = &group[M]{}
		l.groups[it.Task.Key] = g
		l.keepLater()
	}
	g.items = append(g.items, it)
	if g.resting && l.mayWait(it) {
		return
	}
	g.cancelHold()
	l.start(work, it.Task.Key, g)
}

func (l *Loop[M]) mayWait(it *item[M]) bool {
	handler, ok := l.handler.(Patient[M])
	return ok && handler.MayWait(it.Body)
}

// start begins to handle a group unless it is already being handled. The caller holds the lock.
func (l *Loop[M]) start(work context.Context, key schedule.Key, g *group[M]) {
	if g.busy {
		return
	}
	g.busy = true
	next := turn[M]{key, g}
	switch last := len(l.idle) - 1; {
	case last >= 0:
		l.idle[last] <- next
		l.idle = l.idle[:last]
	case l.handlers < l.config.Concurrency:
		l.handlers++
		turns := make(chan turn[M], 1)
		turns <- next
		l.running.Go(func() { l.handleAll(work, turns) })
	default:
		l.ready = append(l.ready, next)
	}
}

// turn is a group that is ready to be handled.
type turn[M any] struct {
	key   schedule.Key
	group *group[M]
}

// handleAll handles the groups that come through turns, until the loop stops. The goroutines are reused, because a new one for each group
// would have to grow its stack each time. The most recently idle one gets the next group, because its data is still in the processor's
// caches.
func (l *Loop[M]) handleAll(work context.Context, turns chan turn[M]) {
	for next := range turns {
		for l.handleOnce(work, next.key, next.group) {
		}
		l.nextTurn(turns)
	}
}

// nextTurn gives a handler its next group: one that is ready now, or one that becomes ready later; or it ends the handler.
func (l *Loop[M]) nextTurn(turns chan turn[M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.ready) > 0:
		turns <- l.ready[0]
		l.ready = l.ready[1:]
	case l.stopping:
		l.handlers--
		close(turns)
	default:
		l.ready = nil // after a large crowd, the array is large
		l.idle = append(l.idle, turns)
	}
}

// handleOnce handles the messages of the group and reports whether more have arrived meanwhile.
func (l *Loop[M]) handleOnce(work context.Context, key schedule.Key, g *group[M]) bool {
	now := l.config.Now()
	l.mu.Lock()
	g.working, g.since = l.once(g.take()), now
	for _, it := range g.working {
		it.share(now)
	}
	l.mu.Unlock()

	verdict := l.process(work, key, g.working)
	var held []*item[M]
	if verdict.IsHold() {
		held = l.keepOne(work, g.working)
		if held[0].Gone {
			verdict.until = now
		}
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropCopies(g)
	rests := !verdict.rest.IsZero() && !slices.ContainsFunc(g.items, func(it *item[M]) bool { return !l.mayWait(it) })
	more := len(g.items) > 0 && !rests
	g.items = append(held, g.items...)
	g.working = nil
	if l.stopping {
		l.returnItems(g.take())
		more = false
	}
	if more {
		return true
	}
	g.busy = false
	switch {
	case rests && !l.stopping:
		l.holdUntil(work, key, g, verdict.rest)
		g.resting = true
	case len(g.items) == 0:
		delete(l.groups, key)
	default:
		l.holdUntil(work, key, g, verdict.until)
	}
	return false
}

// once keeps one delivery of each message among items, the newest. NATS delivers a message again if it does not know that the message is in
// progress, for example after the election of a leader, even to the process that holds it. Acknowledging the older delivery would remove
// the message.
func (l *Loop[M]) once(items []*item[M]) []*item[M] {
	if len(items) < 2 {
		return items
	}
	newest := make(map[place]*item[M], len(items))
	for _, it := range items {
		if older := newest[it.place]; older != nil {
			it.Held = it.Held || older.Held
			<-l.slots
		}
		newest[it.place] = it
	}
	return slices.DeleteFunc(items, func(it *item[M]) bool { return newest[it.place] != it })
}

// dropCopies drops deliveries of a message that was handled and acknowledged meanwhile. Its work is done, and nothing would come again if
// this process died. The caller holds the lock.
func (l *Loop[M]) dropCopies(g *group[M]) {
	if len(g.items) == 0 {
		return
	}
	done := make(map[place]bool, len(g.working))
	for _, it := range g.working {
		done[it.place] = it.acked
	}
	g.items = slices.DeleteFunc(g.items, func(it *item[M]) bool {
		if done[it.place] {
			<-l.slots
		}
		return done[it.place]
	})
}

// process handles items and returns the verdict. Unless the verdict is to hold them, it settles them as well.
func (l *Loop[M]) process(work context.Context, key schedule.Key, items []*item[M]) Verdict {
	if len(items) == 0 {
		return Done()
	}
	verdict := l.handle(work, key, items)
	if len(items) > 1 && isPermanent(verdict.err) {
		for i := range items {
			one := items[i : i+1]
			// A single message of several cannot be held. settle gives it back instead, and it soon comes again.
			l.settle(work, key, one, l.handle(work, key, one))
		}
		return Done()
	}
	if !verdict.IsHold() {
		l.settle(work, key, items, verdict)
	}
	return verdict
}

// keepOne chooses the message of a group to hold, and acknowledges the others. It keeps the newest message that its stream still has, for
// these reasons:
//
//   - A stream keeps only the newest message of a subject.
//   - The newest of several subjects may have been delivered to another process as well, which has acknowledged it.
//
// If the messages come from several streams, it does not matter which stream it is. If a stream does not answer, all items are kept until
// the next time. If no stream has any of them, all are kept, and the newest is marked as Gone, to be handled again at once.
func (l *Loop[M]) keepOne(work context.Context, items []*item[M]) []*item[M] {
	items = slices.SortedFunc(slices.Values(items), func(a, b *item[M]) int { return cmp.Compare(b.sequence, a.sequence) })
	for _, it := range items {
		it.Held = true
	}
	kept, known := l.newestStored(work, items)
	if !known {
		return items
	}
	if kept == nil {
		items[0].Gone = true
		return items
	}
	for _, it := range items {
		if it != kept {
			l.ack(it)
			<-l.slots
		}
	}
	return []*item[M]{kept}
}

// newestStored returns the first of items that the stream has; nil if it has none. The items are sorted, newest first. known reports
// whether the stream has answered.
func (l *Loop[M]) newestStored(work context.Context, items []*item[M]) (newest *item[M], known bool) {
	if len(items) == 1 {
		return items[0], true // a single item: nothing will be acknowledged because of the answer
	}
	for _, it := range items {
		last, err := l.config.Bus.Last(work, it.stream, it.raw.Subject())
		switch {
		case err == nil && last.Sequence == it.sequence:
			return it, true
		case err != nil && !errors.Is(err, bus.ErrNone):
			return nil, false
		}
	}
	return nil, true
}

// holdUntil sets the timer that makes the group be handled again. The caller holds the lock.
func (l *Loop[M]) holdUntil(work context.Context, key schedule.Key, g *group[M], until time.Time) {
	g.holds++
	hold := g.holds
	g.hold = time.AfterFunc(until.Sub(l.config.Now()), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if g.holds == hold && !l.stopping {
			g.hold, g.resting = nil, false
			l.start(work, key, g)
		}
	})
}

// handle calls the handler; a panic is a permanent error.
func (l *Loop[M]) handle(ctx context.Context, key schedule.Key, items []*item[M]) (verdict Verdict) {
	messages := make([]Message[M], len(items))
	for i, it := range items {
		messages[i] = it.Message
	}
	defer func() {
		if p := recover(); p != nil {
			l.config.Logger.ErrorContext(ctx, "handler panicked", "namespace", key.Namespace, "schedule_id", key.ID,
				"panic", p, "stack", string(debug.Stack()))
			verdict = Retry(permanent(fmt.Errorf("panic: %v", p)))
		}
	}()
	begin := l.config.Now()
	verdict = l.transition(ctx, key, messages)
	l.metrics.handled(l.config.Now().Sub(begin), verdict)
	return verdict
}

// transition calls the handler within a span.
func (l *Loop[M]) transition(ctx context.Context, key schedule.Key, group []Message[M]) Verdict {
	var span *telemetry.Transition
	if c, ok := l.handler.(Causal[M]); ok {
		ctx, span = StartSpanOf(ctx, key, group, c.Cause(group))
	} else {
		ctx, span = StartSpan(ctx, key, group)
	}
	if d, ok := l.handler.(Describer[M]); ok {
		d.Describe(span, group)
	}
	verdict := l.handler.Handle(ctx, key, group)
	telemetry.End(span, verdict.err)
	return verdict
}

// settle acknowledges the messages of a group, gives them back or makes dead letters of them, and frees their slots.
func (l *Loop[M]) settle(ctx context.Context, key schedule.Key, items []*item[M], verdict Verdict) {
	if verdict.err != nil && len(items) > 0 {
		l.config.Logger.WarnContext(ctx, "transition failed, will try again", "namespace", key.Namespace,
			"schedule_id", key.ID, "deliveries", items[0].Deliveries, "error", verdict.err)
	}
	for _, it := range items {
		switch {
		case verdict.IsHold():
			l.giveBackLater(it.raw, 1)
		case verdict.back:
			l.giveBack(it.raw)
		case verdict.err == nil:
			l.ack(it)
		case ctx.Err() != nil:
			l.giveBack(it.raw) // it was not the message's fault
		case isPermanent(verdict.err) && it.Deliveries >= l.config.MaxDeliveries:
			l.deadLetter(ctx, it.raw, verdict.err)
		default:
			l.giveBackLater(it.raw, it.Deliveries)
		}
		<-l.slots
	}
}

func (l *Loop[M]) ack(it *item[M]) {
	it.acked = true
	l.metrics.settled(acked)
	// If the acknowledgement is lost, the message comes again, and the handler finds the work done.
	if err := it.raw.Ack(); err != nil {
		l.config.Logger.Debug("acknowledge", "subject", it.raw.Subject(), "error", err)
	}
}

func (l *Loop[M]) giveBack(raw jetstream.Msg) {
	l.metrics.settled(returned)
	if err := raw.Nak(); err != nil {
		l.config.Logger.Debug("give back", "subject", raw.Subject(), "error", err)
	}
}

// giveBackLater gives a message back after a wait that grows with each delivery: 200 ms doubling to 10 s.
func (l *Loop[M]) giveBackLater(raw jetstream.Msg, deliveries uint64) {
	l.metrics.settled(retried)
	delay := min(100*time.Millisecond<<min(deliveries, 10), 10*time.Second)
	if err := raw.NakWithDelay(delay); err != nil {
		l.config.Logger.Debug("give back", "subject", raw.Subject(), "error", err)
	}
}

// returnItems gives messages back at once and frees their slots.
func (l *Loop[M]) returnItems(items []*item[M]) {
	for _, it := range items {
		l.giveBack(it.raw)
		<-l.slots
	}
}

// keepEvery is how often the acknowledgement deadline of what the loop holds is extended.
const keepEvery = subjects.TaskAckWait / 4

// keepAlive extends the acknowledgement deadline of everything the loop holds, until ctx ends. While the loop holds nothing, it sleeps.
func (l *Loop[M]) keepAlive(ctx context.Context) {
	defer l.keepTimer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.keepTimer.C:
			l.extend()
		}
	}
}

// keepLater sets the timer for the next extension, if the loop holds anything. The caller holds the lock.
func (l *Loop[M]) keepLater() {
	if !l.keepSet && len(l.groups) > 0 {
		l.keepTimer.Reset(keepEvery)
		l.keepSet = true
	}
}

func (l *Loop[M]) extend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keepSet = false
	defer l.keepLater()
	if !l.config.Bus.Connected() {
		return // messages sent now would only fill the buffer for the reconnect
	}
	now := l.config.Now()
	for _, g := range l.groups {
		for _, it := range g.items { // for those being handled, the server has been told
			it.share(now)
		}
		for _, items := range [][]*item[M]{g.items, g.working} {
			for _, it := range items {
				if now.Sub(it.touched) < keepEvery {
					continue
				}
				it.touched = now
				if err := it.raw.InProgress(); err != nil {
					l.config.Logger.Debug("extend acknowledgement wait", "subject", it.raw.Subject(), "error", err)
				}
			}
		}
	}
}
