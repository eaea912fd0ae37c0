package simulation

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// world is one whole simulation: JetStream, the processes, and the messages between them. It happens in one synctest bubble,
// whose clock is virtual, and one thing at a time: the world lets every goroutine run until it waits, and then carries out the
// next event. The seed decides what comes when.
type world struct {
	seed   uint64
	rng    *rand.Rand // for messages on their way; callers and planned faults have their own
	plan   Plan
	names  subjects.Names
	server *jsmodel.Server
	trace  trace

	nodes []*node
	// processes counts those that run, or have not noticed yet that they are dead.
	processes sync.WaitGroup
	shares    []share // of the processes that play all roles
	ledger    *ledger
	// promises are checked in the moment in which something happens.
	promises promises
	books    books
	queue    events
	order    uint64 // of events of the same time
	firing   map[string]bool
	pulled   []consumerName // those that a process has ever pulled from
	alarm    *time.Timer
	// unserved says that something has changed since JetStream last had its turn. unseen says so since isOver last looked. wake
	// is when JetStream next acts by itself.
	unserved, unseen bool
	wake             time.Time
	outage           time.Time    // until when nobody reaches JetStream
	reachable        atomic.Int64 // the same, for the goroutines of processes
	reconnects       atomic.Uint64
	full             time.Time // until when JetStream stores nothing new
	spaces           map[string]*space
	troubled         time.Time   // until when everybody had reason to repeat work
	lag              uint64      // how many messages the replica that answers now is behind
	calm             bool        // the faults are over
	orderly          atomic.Bool // the same, for the goroutines of processes
	faults           map[string]int
	started          int
	// met counts how often each limit was met.
	met map[string]int
	// recess is when nothing happens. caughtUp is what all replicas of a stream have seen by its end. The process with the
	// number trapped is to stand still when it first reads a record after trapFrom; -1 means no process.
	recess   recess
	caughtUp map[string]uint64
	trapped  int
	trapFrom time.Time
	checks   checks
	losses   losses
	// executions is what it knows about executions.
	executions *executions

	// asking counts the requests of callers, unanswered those without an answer yet.
	asking, unanswered int
	tries              int        // of all requests
	replies            []*request // those that have been answered
	open               []*request // all that have been asked

	mu      sync.Mutex
	arrived []*call
	notify  chan struct{}
}

// event happens at a time.
type event struct {
	at    time.Time
	order uint64
	run   func(now time.Time)
}

// events are a heap, the next one first.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if c := e[i].at.Compare(e[j].at); c != 0 {
		return c < 0
	}
	return e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// at plans an event.
func (w *world) at(at time.Time, run func(now time.Time)) {
	w.order++
	heap.Push(&w.queue, event{at, w.order, run})
}

// stir notes a change that JetStream may have to act on.
func (w *world) stir() {
	w.unserved, w.unseen = true, true
	w.checks.stirred = time.Now()
}

// run lets the world go on until all is quiet or the limit is reached.
func (w *world) run(limit time.Time) {
	for {
		synctest.Wait()
		w.takeIn()
		now := time.Now()
		if now.After(limit) || w.isOver() {
			return
		}
		if len(w.queue) > 0 && !w.queue[0].at.After(now) {
			heap.Pop(&w.queue).(event).run(now)
			w.serve(now)
			continue
		}
		w.serve(now)
		w.sleep(now)
	}
}

// isOver reports whether all is quiet. It looks only when something has changed.
func (w *world) isOver() bool {
	if !w.calm || !w.unseen {
		return false
	}
	w.unseen = false
	return w.quiet()
}

// sleep waits for the next planned event, or for a request of a goroutine.
func (w *world) sleep(now time.Time) {
	next := w.wake
	if len(w.queue) > 0 && w.queue[0].at.Before(next) {
		next = w.queue[0].at
	}
	w.alarm.Reset(next.Sub(now))
	select {
	case <-w.alarm.C:
	case <-w.notify:
	}
}

// nextWake is when JetStream next acts by itself. Where something is already due but cannot be done, for instance because
// nobody pulls, JetStream looks again soon.
func (w *world) nextWake(now time.Time) time.Time {
	next := now.Add(time.Hour)
	for _, at := range []time.Time{w.server.NextDelivery(), w.server.Next()} {
		switch {
		case at.IsZero():
		case at.After(now):
			next = minTime(next, at)
		default:
			next = minTime(next, now.Add(100*time.Millisecond))
		}
	}
	return next
}

// submit hands a call of a goroutine to the world.
func (w *world) submit(c *call) {
	w.mu.Lock()
	w.arrived = append(w.arrived, c)
	w.mu.Unlock()
	select {
	case w.notify <- struct{}{}:
	default:
	}
}

// takeIn accepts the calls that have arrived, in an order that does not depend on which goroutine was faster.
func (w *world) takeIn() {
	w.mu.Lock()
	arrived := w.arrived
	w.arrived = nil
	w.mu.Unlock()
	slices.SortStableFunc(arrived, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.node.number, b.node.number), cmp.Compare(a.what, b.what), cmp.Compare(a.detail, b.detail),
			cmp.Compare(a.asker, b.asker), cmp.Compare(a.content, b.content))
	})
	for len(arrived) > 0 {
		c := arrived[0]
		for arrived = arrived[1:]; len(arrived) > 0 && c.isTwin(arrived[0]); arrived = arrived[1:] {
			c.twins = append(c.twins, arrived[0])
		}
		w.begin(c, time.Now())
	}
}

// begin sends a call on its way to JetStream.
func (w *world) begin(c *call, now time.Time) {
	switch {
	case c.local:
		c.finish(c.apply(now))
		return
	case c.node.dead:
		c.finish(errDead)
		return
	case now.Before(w.outage):
		w.at(minTime(w.outage, now.Add(requestTimeout)), func(time.Time) { c.finish(nats.ErrTimeout) })
		return
	case w.chance(w.plan.Crash):
		w.crash(c.node, now, "before "+c.String())
		c.finish(errDead)
		return
	case w.chance(w.plan.LostRequest):
		w.fault("lost request")
		c.node.trouble(now)
		w.trace.note(now, "LOST", "request "+c.String())
		w.at(now.Add(requestTimeout), func(time.Time) { c.finish(nats.ErrTimeout) })
		return
	}
	at := now.Add(w.latency() + w.holdUp(c.handsOver))
	if c.what == whatSend { // plain messages keep their order
		at = maxTime(at, c.node.sends.Add(1))
		c.node.sends = at
	}
	w.at(at, func(now time.Time) { w.apply(c, now) })
}

// apply carries a call out.
func (w *world) apply(c *call, now time.Time) {
	w.trap(c, now)
	if resumes := c.node.suspended; now.Before(resumes) && !c.sent {
		// It left before the process stopped, or waits in it.
		c.sent = w.isTooOld(c) || w.chance(0.5)
		if !c.sent {
			w.at(resumes.Add(w.latency()), func(now time.Time) { w.apply(c, now) })
			return
		}
	}
	if c.node.dead && !c.sent {
		if c.sent = w.chance(0.5); !c.sent {
			return
		}
	}
	w.server.Advance(now)
	err := error(errFull)
	if !c.stores || !now.Before(w.full) {
		w.lag = 0
		if c.what == whatGet && w.chance(w.plan.Stale) {
			w.lag = w.rng.Uint64N(20)
			w.fault("stale read")
		}
		err = c.apply(now)
		for _, twin := range c.twins {
			_ = twin.apply(now)
		}
	}
	if !c.reads {
		w.stir()
	}
	w.trace.add(now, c.node.name+" ", c, err)
	if c.what == whatPublish && err == nil && w.chance(w.plan.Duplicate) {
		w.repeat(c, now)
	}
	switch {
	case w.chance(w.plan.Crash):
		w.crash(c.node, now, "after "+c.String())
	case w.chance(w.plan.LostReply):
		w.fault("lost reply")
		c.node.trouble(now)
		w.trace.note(now, "LOST", "reply to "+c.String())
		w.at(now.Add(requestTimeout), func(time.Time) { c.finish(nats.ErrTimeout) })
		return
	}
	w.reply(c, now, err)
}

// repeat carries a call out once more, some time later, and tells nobody: the network does so, or a client that retries.
func (w *world) repeat(c *call, now time.Time) {
	w.fault("duplicate")
	w.at(now.Add(w.duration(0, 5*time.Second)), func(now time.Time) {
		w.server.Advance(now)
		again := *c
		w.trace.add(now, "DUPLICATE "+c.node.name+" ", &again, again.apply(now))
		w.stir()
	})
}

func (w *world) reply(c *call, now time.Time, err error) {
	at := now.Add(w.latency() + w.holdUp(c.handsOver))
	if at.Before(c.node.suspended) {
		at = c.node.suspended.Add(w.latency())
	}
	w.at(at, func(time.Time) { c.finish(err) })
}

// serve lets JetStream act by itself: it fires what is due and delivers what can be delivered.
func (w *world) serve(now time.Time) {
	if !w.unserved && now.Before(w.wake) {
		return
	}
	w.unserved = false
	for _, due := range w.server.Due(now) {
		id := due.Subject + "/" + due.Header.Get("Nats-Schedule")
		if w.firing[id] {
			continue
		}
		// The server looks for due messages every 250 ms, and stores them some time later.
		w.firing[id] = true
		w.at(now.Add(w.duration(0, 250*time.Millisecond)), func(now time.Time) {
			delete(w.firing, id)
			w.stir()
			if now.Before(w.full) {
				return // it stays, and is tried again
			}
			w.trace.note(now, "timer", due.Subject)
			w.promisedToAdvance(id)
			w.server.Fire(now, due)
			w.published("", &nats.Msg{Subject: due.Header.Get(task.HeaderTarget), Data: due.Data}, now)
		})
	}
	for _, c := range w.pulled {
		w.deliver(c, now)
	}
	w.wake = w.nextWake(now)
}

// deliver hands out the messages of a consumer.
func (w *world) deliver(c consumerName, now time.Time) {
	if now.Before(w.outage) {
		return
	}
	for _, sequence := range w.server.Deliverable(now, c.stream, c.name) {
		var pulls []*pull
		for _, n := range w.nodes {
			for _, p := range n.pulls {
				if p.consumer == c && p.wants(now) {
					pulls = append(pulls, p)
				}
			}
		}
		if len(pulls) == 0 {
			return
		}
		p := pulls[w.rng.IntN(len(pulls))]
		d := w.server.Deliver(now, c.stream, c.name, sequence)
		w.delivered(&d)
		p.inFlight++
		p.left--
		w.redeliver(&d, now)
		w.at(now.Add(w.latency()+w.holdUp(w.isHandOff(d.Subject))), func(now time.Time) { p.receive(d, now) })
	}
}

// redeliver lets JetStream deliver a generator's task again some time later, unless it has been acknowledged by then: as if
// JetStream had heard of no progress.
func (w *world) redeliver(d *jsmodel.Delivery, now time.Time) {
	if !strings.HasPrefix(d.Subject, w.names.Prefix()+".task.") || !strings.Contains(d.Subject, ".generate.") ||
		!w.chance(w.plan.Redelivered) {
		return
	}
	w.fault("redelivery")
	w.at(now.Add(w.duration(0, subjects.TaskAckWait)), func(now time.Time) {
		w.server.Nak(now, d, 0)
		w.stir()
	})
}

func (w *world) chance(p float64) bool { return p > 0 && !w.calm && w.rng.Float64() < p }

func (w *world) duration(from, to time.Duration) time.Duration { return between(w.rng, from, to) }

func between(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64(to-from)))
}

// slowest is how long a message takes, at most.
const slowest = 3 * time.Second

// latency is how long a message takes: short as a rule, and long now and then.
func (w *world) latency() time.Duration {
	switch dice := w.rng.IntN(1000); {
	case dice < 900:
		return w.duration(20*time.Microsecond, time.Millisecond)
	case dice < 995 || !w.plan.Slow:
		return w.duration(time.Millisecond, 20*time.Millisecond)
	}
	w.fault("slow message")
	return w.duration(20*time.Millisecond, slowest)
}

// longestHoldUp is how much longer a hand-off takes, at most.
const longestHoldUp = 3 * time.Second

// holdUp is how much longer a hand-off takes.
func (w *world) holdUp(handsOver bool) time.Duration {
	if !handsOver || !w.chance(w.plan.HeldUp) {
		return 0
	}
	w.fault("held-up hand-off")
	return w.duration(0, longestHoldUp)
}

// isHandOff reports whether a message on a subject hands over automated actions.
func (w *world) isHandOff(subject string) bool {
	return strings.HasPrefix(subject, w.names.Prefix()+".task.") && strings.Contains(subject, "."+schedule.SourceAuto+"-")
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
