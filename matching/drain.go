package matching

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// openWait bounds the look at a queue before its drain.
	openWait = 10 * time.Second
	// fetchWait is how long a drain waits for a message before it takes the backlog for empty. A consumer may learn of a message a moment
	// after the message was stored.
	fetchWait = 300 * time.Millisecond
	// startWait bounds a request to history: as long as a poll is reserved. Together with the patience of an offer it is less than the time
	// after which another process gets the message.
	startWait = 3 * time.Second
	// retryDelay is when a task is tried again that could not be started. If its execution cannot be read, the delay grows with the attempts.
	retryDelay = time.Second
	// pause is how long after a failure the next task is taken, so that a history that answers nothing is not asked all the time.
	pause = 100 * time.Millisecond
)

// drain takes the tasks of one queue from the backlog while polls take them. Only one runs for each queue of a process.
type drain struct {
	m     *Matching
	queue offer.Queue
	again bool // there was a hint; guarded by m.mu
	// levels are those of the pass in progress; guarded by m.mu.
	levels *levels
}

// run drains the queue once: until the backlog is empty, or nobody polls.
func (d *drain) run(ctx context.Context) {
	p := &pass{drain: d, levels: d.newLevels(), room: newRoom(d.m.config.Concurrency)}
	some, err := p.open(ctx)
	if err == nil && some {
		err = p.run(ctx)
	}
	if err != nil && ctx.Err() == nil {
		d.m.config.Logger.WarnContext(ctx, "backlog not drained", "namespace", d.queue.Namespace, "task_queue", d.queue.Name, "error", err)
		_ = sleep.For(ctx, retryDelay)
	}
}

// newLevels returns what hints tell from now on.
func (d *drain) newLevels() *levels {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	d.levels = &levels{}
	return d.levels
}

// pass is one run of a drain.
type pass struct {
	*drain
	levels    *levels
	consumers [subjects.LastPriority + 1]bus.Fetcher // nil until the priority is asked
	room      *room
	working   sync.WaitGroup
}

// open looks which priorities have tasks. It reports whether there is anything to do.
func (p *pass) open(ctx context.Context) (some bool, err error) {
	select {
	case p.m.opening <- struct{}{}:
		defer func() { <-p.m.opening }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	if polled, err := p.m.offers.Polled(ctx, p.queue); err != nil || !polled {
		return false, err
	}
	priorities, err := p.m.backlog.priorities(ctx, p.queue)
	for _, priority := range priorities {
		p.levels.expect(priority)
	}
	return len(priorities) > 0, err
}

// run takes messages as long as there are some, and somebody polls.
func (p *pass) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer p.levels.end()
	defer p.working.Wait()
	defer stop()
	for {
		n := p.room.enter(ctx)
		if n == 0 {
			return nil
		}
		got, err := p.fetch(ctx, stop, n)
		if err != nil {
			return err
		}
		if got == 0 && p.room.empty() && len(p.levels.candidates()) == 1 {
			return nil
		}
	}
}

// fetch takes up to n messages, for which there is room, and works on them: the most urgent ones. If there are none, it waits for some.
func (p *pass) fetch(ctx context.Context, stop func(), n int) (got int, err error) {
	defer func() { p.room.leave(n - got) }()
	candidates := p.levels.candidates()
	for _, priority := range candidates {
		behind := p.levels.behind(priority)
		if behind == nil && len(candidates) > 1 {
			var some int
			some, err = p.take(ctx, stop, priority, n-got, 0)
			got += some
		}
		switch {
		case err != nil || got == n || behind != nil && got > 0:
			return got, err
		case behind != nil:
			awaitTurn(ctx, behind)
			return 0, nil
		}
	}
	if got == 0 {
		got, err = p.take(ctx, stop, subjects.DefaultPriority, n, fetchWait)
	}
	return got, err
}

// awaitTurn waits until less urgent tasks may have their turn.
func awaitTurn(ctx context.Context, behind <-chan struct{}) {
	select {
	case <-behind:
	case <-ctx.Done():
	}
}

// take takes up to n messages with a priority, and works on them.
func (p *pass) take(ctx context.Context, stop func(), priority, n int, wait time.Duration) (got int, err error) {
	if p.consumers[priority] == nil {
		if p.consumers[priority], err = p.m.backlog.consumer(ctx, p.queue, priority); err != nil {
			return 0, err
		}
	}
	err = p.consumers[priority].Fetch(n, wait, func(msg jetstream.Msg) {
		got++
		looking := p.levels.look(ctx, priority)
		p.working.Go(func() {
			defer p.room.leave(1)
			p.work(ctx, stop, looking, priority, msg)
		})
	})
	p.levels.asked(priority, got)
	return got, err
}

// work finds a poll for one task, and asks history to start it. Whatever happens, the message is settled, or comes again by itself.
func (p *pass) work(ctx context.Context, stop func(), looking context.Context, priority int, msg jetstream.Msg) {
	task, err := offer.ParseTask(msg.Data())
	if err != nil {
		p.levels.found(priority)
		p.giveUp(ctx, msg, err)
		return
	}
	poller, err := p.find(looking, msg)
	p.levels.found(priority)
	switch {
	case err == nil:
		p.start(ctx, msg, task, poller)
	case looking.Err() != nil: // it gives way, or the process stops
		p.settle(metrics.BacklogReturned, msg.Nak())
	case errors.Is(err, offer.ErrNobody):
		stop() // until the next hint
		p.settle(metrics.BacklogReturned, msg.Nak())
	default:
		p.fail(ctx, msg, err)
	}
}

// find offers the task until a poll takes it, or nobody is there.
func (p *pass) find(ctx context.Context, msg jetstream.Msg) (offer.Poller, error) {
	for {
		found, err := p.m.offers.Offer(ctx, p.queue, p.m.config.Patience)
		if !errors.Is(err, offer.ErrBusy) {
			if err == nil {
				p.room.grow()
			}
			return found, err
		}
		p.room.shrink()
		if err := msg.InProgress(); err != nil {
			return offer.Poller{}, err
		}
	}
}

// start starts the task. It goes on when ctx ends: the poll is reserved.
func (p *pass) start(ctx context.Context, msg jetstream.Msg, task offer.Task, to offer.Poller) {
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), startWait)
	defer cancel()
	err := p.m.config.Starter.Start(starting, task, to)
	if err == nil {
		p.m.offers.Count(p.queue, task.Priority, 0, 1)
		p.settle(metrics.BacklogStarted, msg.Ack())
		return
	}
	_ = p.m.offers.Hand(starting, to, nil) // if it fails, the reservation ends by itself
	if errors.Is(err, ErrForget) {
		p.m.offers.Count(p.queue, task.Priority, 0, 1)
		p.settle(metrics.BacklogForgotten, msg.Ack())
		return
	}
	if _, unreadable := errors.AsType[*serviceerror.DataLoss](err); unreadable {
		p.failForLong(ctx, msg, err)
		return
	}
	p.fail(ctx, msg, err)
}

// failForLong gives a message back whose execution cannot be read. After some attempts it becomes a dead letter.
func (p *pass) failForLong(ctx context.Context, msg jetstream.Msg, cause error) {
	meta, err := msg.Metadata()
	if err == nil && meta.NumDelivered >= p.m.config.Attempts {
		p.giveUp(ctx, msg, cause)
		return
	}
	delay := retryDelay
	if err == nil {
		delay *= time.Duration(meta.NumDelivered)
	}
	p.failFor(ctx, msg, cause, delay)
}

// giveUp makes a dead letter of a message that no attempt can handle.
func (p *pass) giveUp(ctx context.Context, msg jetstream.Msg, cause error) {
	meta, err := msg.Metadata()
	if err != nil {
		p.fail(ctx, msg, err)
		return
	}
	names := p.m.config.Names
	letter := deadletter.New(names.DeadLetter(subjects.PoolHistory), msg, meta, cause, p.m.backlog.bus.MaxPayload())
	if err := p.m.backlog.bus.Publish(ctx, letter); err != nil {
		p.fail(ctx, msg, fmt.Errorf("store a dead letter: %w", err))
		return
	}
	metrics.DeadLetters.Add(ctx, 1, subjects.PoolHistory)
	p.m.config.Logger.ErrorContext(ctx, "task of the backlog is a dead letter", "subject", msg.Subject(), "reason", cause)
	p.settle(metrics.BacklogDead, msg.Ack())
}

// fail gives a message back for another attempt.
func (p *pass) fail(ctx context.Context, msg jetstream.Msg, err error) {
	p.failFor(ctx, msg, err, retryDelay)
}

func (p *pass) failFor(ctx context.Context, msg jetstream.Msg, err error, delay time.Duration) {
	p.m.config.Logger.WarnContext(ctx, "task of the backlog not started", "namespace", p.queue.Namespace, "task_queue", p.queue.Name, "error", err)
	p.settle(metrics.BacklogFailed, msg.NakWithDelay(delay))
	_ = sleep.For(ctx, pause)
}

// settle counts what has become of a message. If NATS could not be told, the message comes again.
func (p *pass) settle(outcome string, told error) {
	if told == nil {
		metrics.BacklogSettled.Add(metrics.Untraced(), 1, p.queue.Namespace, string(p.queue.Kind), outcome)
	}
}
