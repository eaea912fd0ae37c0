package offer

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/presence"
)

const (
	// heldSweep is how late an offer may be taken that a limit has held up.
	heldSweep = 10 * time.Millisecond
	// shareEvery is how often a gateway counts the gateways with which it shares a limit, and shareWait how long they get to answer.
	shareEvery = 5 * time.Second
	shareWait  = 250 * time.Millisecond
	// unlimited is what SDKs send if nobody has set a limit.
	unlimited = 100_000
)

// Limit says how many tasks of a queue workers want in a second, in all gateways together. A gateway hands out its share: as much as the
// others that had a poll of the queue in the last minutes. Zero and 100,000 or more mean any number; a negative number changes nothing. What
// was said last counts. It lasts as long as the queue is polled.
func (p *Polls) Limit(q Queue, perSecond float64) {
	if perSecond < 0 || q.Validate() != nil {
		return
	}
	if perSecond >= unlimited {
		perSecond = 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.served[q]
	if s == nil && perSecond == 0 {
		return
	}
	if s = p.of(q); s.limit == perSecond {
		return
	}
	s.limit = perSecond
	p.share(s, 1)
	select {
	case p.limits <- struct{}{}:
	default:
	}
}

// share sets the part of a limit of this gateway. The caller has the lock.
func (p *Polls) share(s *served, gateways int) {
	part := rate.Inf
	if s.limit > 0 {
		part = rate.Limit(s.limit / float64(gateways))
	}
	s.line.limit(p.config.Now(), part)
	p.attend(s)
}

// shareLimits divides the limits of queues among their gateways, until ctx ends. It does nothing while there are no limits.
func (p *Polls) shareLimits(ctx context.Context) {
	for {
		limited := p.limited()
		for _, q := range limited {
			p.shareLimit(ctx, q)
		}
		var again <-chan time.Time
		if len(limited) > 0 {
			again = time.After(shareEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.limits:
		case <-again:
		}
	}
}

// limited returns the queues with a limit.
func (p *Polls) limited() (all []Queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for q, s := range p.served {
		if s.limit > 0 {
			all = append(all, q)
		}
	}
	return all
}

// shareLimit counts the gateways of a queue, this one included. If NATS cannot be reached, the share stays as it is.
func (p *Polls) shareLimit(ctx context.Context, q Queue) {
	asking, cancel := context.WithTimeout(ctx, shareWait)
	defer cancel()
	gateways := 0
	err := presence.Ask(asking, p.config.Conn, p.config.Names.Pollers(q), func([]byte) { gateways++ })
	if err != nil || ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.served[q]; s != nil && gateways > 0 {
		p.share(s, gateways)
	}
}
