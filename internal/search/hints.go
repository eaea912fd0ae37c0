package search

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/idle"
	"github.com/carillon-scheduler/carillon/subjects"
)

// maxHints bounds how many definitions are looked at ahead of the rest. Where more change at once, those beyond are found
// when everything is.
const maxHints = 1000

// hints are definitions that somebody has written, or tried to: the message that a bucket gets is seen by all who care. They
// only say where to look. It is safe for concurrent use.
type hints struct {
	mu sync.Mutex
	// subjects are those of the messages, by shard, and count is how many there are.
	subjects map[int]map[string]struct{}
	count    int
	// some is full when there are any.
	some chan struct{}
	// heard counts the messages that have come, applied those up to which all are in the index. Lost says that some are not
	// among the hints, and show when everything is read.
	heard, applied uint64
	lost           bool
	// wanted is full when somebody waits for what is among the hints.
	wanted chan struct{}
}

func newHints() *hints {
	return &hints{subjects: map[int]map[string]struct{}{}, some: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
}

func (h *hints) add(shard int, subject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard++
	if h.count >= maxHints {
		h.lost = true
		return
	}
	if h.subjects[shard] == nil {
		h.subjects[shard] = map[string]struct{}{}
	}
	before := len(h.subjects[shard])
	h.subjects[shard][subject] = struct{}{}
	h.count += len(h.subjects[shard]) - before
	select {
	case h.some <- struct{}{}:
	default:
	}
}

// take returns the subjects there are, by shard, and forgets them. The mark is for done.
func (h *hints) take() (taken map[int]map[string]struct{}, mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken = h.subjects
	h.subjects, h.count = map[int]map[string]struct{}{}, 0
	return taken, h.heard
}

// done says that what take has returned is in the index.
func (h *hints) done(mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lost {
		h.applied = max(h.applied, mark)
	}
}

// failed says that it is not, and shows when everything is read.
func (h *hints) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
}

// begin is the mark of a reader who is about to read everything, and doneAll says that he has.
func (h *hints) begin() (mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = false
	return h.heard
}

func (h *hints) doneAll(mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.applied = max(h.applied, mark)
}

// reached reports whether so many of the messages that have come are in the index.
func (h *hints) reached(mark uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.applied >= mark
}

// listen collects hints until stop is called.
func (x *Index) listen() (stop func(), err error) {
	var subscriptions []*nats.Subscription
	stop = func() {
		for _, s := range subscriptions {
			_ = s.Unsubscribe() // on a closed connection there is none
		}
	}
	for shard := range x.config.Shards {
		subject := subjects.BucketSubject(x.config.Names.StateBucket(shard), "*.*."+subjects.KindDefinition)
		s, err := x.config.JS.Conn().Subscribe(subject, func(m *nats.Msg) { x.hints.add(shard, m.Subject) })
		if err != nil {
			return stop, err
		}
		subscriptions = append(subscriptions, s)
	}
	x.listening.Store(&subscriptions)
	return stop, nil
}

// awaitEvery is how often a wait looks whether it is over.
const awaitEvery = 2 * time.Millisecond

// Await waits until the definitions that were written before, as far as this process has heard of them, are in the index: with
// NATS on one server that is every change that was acknowledged before the call, and with several all but those of the last
// milliseconds, as a rule. It is false if that is not so within the limit, or before ctx ends, or if the index is being built.
func (x *Index) Await(ctx context.Context, limit time.Duration) bool {
	if x.status.upTo().IsZero() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for mark, known := x.came(); known; {
		if x.hints.reached(mark) {
			return true
		}
		select {
		case x.hints.wanted <- struct{}{}:
		default:
		}
		if idle.For(ctx, awaitEvery) != nil {
			return false
		}
		// A message that is handed over at the same moment may have been counted twice.
		again, _ := x.came()
		mark = min(mark, again)
	}
	return false
}

// came counts the messages about definitions that this process has received; not known if it does not listen.
func (x *Index) came() (count uint64, known bool) {
	subscriptions := x.listening.Load()
	if subscriptions == nil {
		return 0, false
	}
	for _, s := range *subscriptions {
		waiting, _, err := s.Pending()
		if err != nil {
			return 0, false
		}
		handed, err := s.Delivered()
		if err != nil {
			return 0, false
		}
		count += uint64(waiting) + uint64(handed)
	}
	return count, true
}
