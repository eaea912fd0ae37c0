package limits

import (
	"sync"
	"time"
)

const (
	// beatEvery is how often a frontend tells the others that it is there.
	beatEvery = 2 * time.Second
	// peerAge is how long a frontend is counted that is not heard of any more.
	peerAge = 3*beatEvery + beatEvery/2
)

// beat is what a frontend tells the others every beatEvery.
type beat struct {
	ID string `json:"id"`
	// Leaving says that it takes no more requests.
	Leaving bool `json:"leaving,omitempty"`
	// Seconds is the time that Accepted counts are of.
	Seconds    float64             `json:"seconds"`
	Namespaces map[string]requests `json:"namespaces,omitempty"`
}

// requests counts those of a namespace at one frontend.
type requests struct {
	// Accepted are those since the beat before, Refused all that the limit has refused since the frontend was started.
	Accepted int    `json:"accepted,omitempty"`
	Refused  uint64 `json:"refused,omitempty"`
}

// peers knows the other frontends of an installation by their beats. It is safe for concurrent use.
type peers struct {
	mu     sync.Mutex
	others map[string]peer
}

// peer is another frontend.
type peer struct {
	last beat
	seen time.Time
}

func newPeers() *peers { return &peers{others: map[string]peer{}} }

// hear notes the beat of a frontend, and reports whether that is one not known before, which may not know of this one.
func (p *peers) hear(b beat, now time.Time) (stranger bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, other := range p.others {
		if now.Sub(other.seen) > peerAge {
			delete(p.others, id)
		}
	}
	if b.Leaving {
		delete(p.others, b.ID)
		return false
	}
	_, known := p.others[b.ID]
	p.others[b.ID] = peer{last: b, seen: now}
	return !known
}

// count returns how many frontends there are, this one included.
func (p *peers) count(now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 1
	for _, other := range p.others {
		if now.Sub(other.seen) <= peerAge {
			n++
		}
	}
	return n
}

// load returns what the other frontends have last told of a namespace, as requests in a second and refusals.
func (p *peers) load(namespace string, now time.Time) (perSecond float64, refused uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.others {
		if now.Sub(other.seen) > peerAge {
			continue
		}
		told := other.last.Namespaces[namespace]
		perSecond += rateOf(told.Accepted, other.last.Seconds)
		refused += told.Refused
	}
	return perSecond, refused
}

func rateOf(count int, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(count) / seconds
}
