package archival

import (
	"sync"
	"time"

	historypb "go.temporal.io/api/history/v1"
)

const (
	// pagesBytes is how many bytes of histories are kept for further pages, as they are stored. In memory they take a few times that.
	pagesBytes = 32 << 20
	// pagesAge is for how long one is kept after its last page.
	pagesAge = time.Minute
)

// pages are histories of which a page has been asked for, so that the next page need not read and decode all of it again. It is safe for concurrent use.
type pages struct {
	mu    sync.Mutex
	all   map[placed]*paged
	bytes int
}

// placed is the object of a history, in a bucket.
type placed struct{ address, name string }

// paged is a history. The same name always means the same history, so it only grows old to make room.
type paged struct {
	events []*historypb.HistoryEvent
	bytes  int
	used   time.Time
}

// get returns the events of a history, which the caller does not change; nil if they are not known.
func (p *pages) get(at placed, now time.Time) []*historypb.HistoryEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age(now)
	one := p.all[at]
	if one == nil {
		return nil
	}
	one.used = now
	return one.events
}

// put keeps a history, unless it is too large. It makes room for it first.
func (p *pages) put(at placed, events []*historypb.HistoryEvent, bytes int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if bytes > pagesBytes || p.all[at] != nil {
		return
	}
	p.age(now)
	for p.bytes+bytes > pagesBytes {
		p.dropOldest()
	}
	if p.all == nil {
		p.all = map[placed]*paged{}
	}
	p.all[at] = &paged{events, bytes, now}
	p.bytes += bytes
}

// age drops what nobody has asked for in a while.
func (p *pages) age(now time.Time) {
	for at, one := range p.all {
		if now.Sub(one.used) > pagesAge {
			p.drop(at)
		}
	}
}

func (p *pages) dropOldest() {
	var oldest placed
	for at, one := range p.all {
		if first := p.all[oldest]; first == nil || one.used.Before(first.used) {
			oldest = at
		}
	}
	p.drop(oldest)
}

func (p *pages) drop(at placed) {
	p.bytes -= p.all[at].bytes
	delete(p.all, at)
}
