package offer

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// Run serves offers until ctx ends. Then it takes no more offers, ends all polls without a task, except those that an offer has reserved,
// and waits for these, for Config.Reserve at most. It may be called once. The error is that of the first subscription.
func (p *Polls) Run(ctx context.Context) error {
	defer p.close()
	for _, subject := range []string{p.inbox + ">", p.config.Names.AllPollers()} {
		fixed, err := p.config.Conn.ChanQueueSubscribe(subject, "", p.msgs)
		if err != nil {
			return err
		}
		p.fixed = append(p.fixed, fixed)
	}
	var sharing sync.WaitGroup
	sharing.Go(func() { p.shareLimits(ctx) })
	p.serve(ctx) // until ctx ends, at least
	sharing.Wait()
	return nil
}

// serve is the loop of Run.
func (p *Polls) serve(ctx context.Context) {
	sweep, forget := time.NewTimer(0), time.NewTicker(defaultRemember/4)
	defer sweep.Stop()
	defer forget.Stop()
	armed := true
	for done, stopping := ctx.Done(), false; !stopping || p.left() > 0; {
		select {
		case msg := <-p.msgs:
			p.handle(ctx, msg)
		case <-p.wake:
			if !armed {
				sweep.Reset(p.nextSweep())
				armed = true
			}
		case <-sweep.C:
			armed = false
			p.sweep(ctx)
		case <-forget.C:
			p.forget()
		case <-done:
			done, stopping = nil, true
			p.stop()
		}
	}
}

// nextSweep is after how long a sweep is due. A limit may let a poll take an offer at any moment.
func (p *Polls) nextSweep() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.awake {
		if s.line.held() {
			return heldSweep
		}
	}
	return min(sweepEvery, p.config.Reserve/2, p.config.Linger/2)
}

// stop ends all polls that are not reserved, and every offer.
func (p *Polls) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, s := range p.served {
		p.unsubscribe(s)
		s.line.leaveAll(p.config.Now())
		p.attend(s)
	}
}

// left returns how many polls have not ended.
func (p *Polls) left() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.served {
		n += len(s.line.polls)
	}
	return n
}

func (p *Polls) close() {
	for _, fixed := range p.fixed {
		p.config.Conn.Unsubscribe(fixed)
	}
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.served {
		for _, own := range s.line.polls {
			s.line.leave(p.config.Now(), own, false)
		}
	}
}

// handle works on one message.
func (p *Polls) handle(ctx context.Context, msg *nats.Msg) {
	if rest, ok := strings.CutPrefix(msg.Subject, p.inbox); ok {
		p.hand(ctx, rest, msg.Data)
		return
	}
	p.mu.Lock()
	s := p.bySub[msg.Sub]
	p.mu.Unlock()
	switch {
	case s != nil && msg.Sub == s.all:
		p.stand(s, msg)
	case s != nil:
		p.ask(s, msg)
	default:
		p.other(ctx, msg)
	}
}

// ask answers an offer to this gateway alone.
func (p *Polls) ask(s *served, msg *nats.Msg) {
	if string(msg.Data) == probe {
		p.answer(msg.Reply, answer{})
		return
	}
	p.mu.Lock()
	own := s.line.ask(p.config.Now())
	var m *match
	if own != nil {
		m = &match{msg.Reply, own, own.turn}
		p.attend(s)
	}
	p.mu.Unlock()
	if m == nil {
		p.answer(msg.Reply, answer{})
		return
	}
	p.accept(s, m)
}

// stand takes an offer to all gateways, or keeps it.
func (p *Polls) stand(s *served, msg *nats.Msg) {
	var o standing
	if codec.Unmarshal(msg.Data, &o) != nil || o.ID == "" {
		return // not ours
	}
	p.mu.Lock()
	var m *match
	if o.Patience > 0 {
		now := p.config.Now()
		m = s.line.stand(now, standingOffer{o.ID, msg.Reply, now.Add(o.Patience)})
	} else {
		s.line.retract(o.ID)
	}
	p.attend(s)
	p.mu.Unlock()
	p.accept(s, m)
}

// hand takes a task, or the withdrawal of an offer.
func (p *Polls) hand(ctx context.Context, to string, task []byte) {
	id, number, turn, ok := parseInbox(to)
	if !ok {
		return
	}
	p.mu.Lock()
	s := p.byID[id]
	var m *match
	if s != nil {
		m = s.line.hand(p.config.Now(), number, turn, task)
		p.attend(s)
	}
	p.mu.Unlock()
	if s == nil && len(task) > 0 {
		metrics.TasksLost.Add(ctx, 1)
	}
	p.accept(s, m)
}

// other answers who polls a queue. An offer for which a subscription has just ended is answered too.
func (p *Polls) other(ctx context.Context, msg *nats.Msg) {
	q, err := p.config.Names.ParseQueue(msg.Subject)
	if err != nil {
		return
	}
	if msg.Subject != p.config.Names.Pollers(q) {
		p.answer(msg.Reply, answer{})
		return
	}
	p.mu.Lock()
	var answer pollersAnswer
	if s := p.served[q]; s != nil {
		now := p.config.Now()
		answer = pollersAnswer{s.seen.all(now), s.line.limited(now)}
	}
	p.mu.Unlock()
	if len(answer.All) > 0 {
		p.config.Logger.DebugContext(ctx, "asked who polls", "namespace", q.Namespace, "task_queue", q.Name, "pollers", len(answer.All))
		p.answer(msg.Reply, answer)
	}
}

// sweep ends what is over in the lines that time may change, and the subscriptions of queues that nobody has polled for a while.
func (p *Polls) sweep(ctx context.Context) {
	type accepted struct {
		s *served
		m *match
	}
	var matches []accepted
	p.mu.Lock()
	now := p.config.Now()
	lost := 0
	for s := range p.awake {
		found, strays := s.line.expire(now)
		lost += strays
		for _, m := range found {
			matches = append(matches, accepted{s, m})
		}
		idle := len(s.line.polls) == 0
		if idle && now.Sub(s.line.left) >= p.config.Linger {
			// Offers that still stand must not make it look as if somebody polled. Whoever made them asks again and learns that.
			p.unsubscribe(s)
			s.line.retractAll()
		}
		if s.line.rests() && (!idle || s.one == nil) {
			delete(p.awake, s)
		}
	}
	if len(p.awake) > 0 {
		p.rouse()
	}
	p.mu.Unlock()
	if lost > 0 {
		p.config.Logger.WarnContext(ctx, "tasks found no worker after their polls had ended; their timeouts bring them back", "tasks", lost)
		metrics.TasksLost.Add(ctx, lost)
	}
	for _, a := range matches {
		p.accept(a.s, a.m)
	}
}

// forget forgets the queues that nobody has polled for some minutes.
func (p *Polls) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.config.Now()
	for q, s := range p.served {
		if len(s.line.polls) == 0 && s.line.rests() && s.one == nil && len(s.seen.all(now)) == 0 {
			delete(p.served, q)
			delete(p.byID, s.id)
			delete(p.awake, s)
		}
	}
}

const inboxBase = 36

// inboxOf is the subject where a poll waits for the task of a reservation.
func (p *Polls) inboxOf(id, number, turn uint64) string {
	return p.inbox + strconv.FormatUint(id, inboxBase) + "." + strconv.FormatUint(number, inboxBase) + "." + strconv.FormatUint(turn, inboxBase)
}

// parseInbox takes apart what inboxOf has appended.
func parseInbox(text string) (id, number, turn uint64, ok bool) {
	var parts [3]uint64
	tokens := strings.Split(text, ".")
	if len(tokens) != len(parts) {
		return 0, 0, 0, false
	}
	for i, token := range tokens {
		n, err := strconv.ParseUint(token, inboxBase, 64)
		if err != nil {
			return 0, 0, 0, false
		}
		parts[i] = n
	}
	return parts[0], parts[1], parts[2], true
}
