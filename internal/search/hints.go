package search

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

// maxHints bounds how many definitions are read ahead of the rest. If more change at once, the others are found when everything
// is read.
const maxHints = 1000

// unresolvedAge is how long the index looks for the write of a hint. If it is not there by then, the write has failed.
const unresolvedAge = 2 * time.Second

// hint announces a write of a definition. The write is stored once the definition's sequence is beyond this one. The message
// arrives before that, and a replica may show the definition later still.
type hint struct {
	beyond uint64
	heard  time.Time
}

// hints are definitions that somebody has written, or tried to write: every subscriber sees the messages that a bucket gets. It
// is safe for concurrent use.
type hints struct {
	mu sync.Mutex
	// subjects has the subjects of the messages, by shard, and count is their number.
	subjects map[int]map[string]hint
	count    int
	// some is full when there are hints.
	some chan struct{}
	// heard counts the messages that have arrived; applied is the count up to which all are in the index. lost means that some
	// are not among the hints, and show when everything is read.
	heard, applied uint64
	lost           bool
	// wanted is full when a caller waits for the hinted changes.
	wanted chan struct{}
}

func newHints() *hints {
	return &hints{subjects: map[int]map[string]hint{}, some: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
}

func (h *hints) add(shard int, subject string, about hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard++
	if h.count >= maxHints {
		h.lost = true
		return
	}
	h.put(shard, subject, about)
}

// put notes one hint. The caller has locked the hints.
func (h *hints) put(shard int, subject string, about hint) {
	if h.subjects[shard] == nil {
		h.subjects[shard] = map[string]hint{}
	}
	known, ok := h.subjects[shard][subject]
	if !ok {
		h.count++
	}
	if !ok || about.beyond >= known.beyond {
		h.subjects[shard][subject] = about
	}
	select {
	case h.some <- struct{}{}:
	default:
	}
}

// take returns the subjects, by shard, and forgets them. The mark is for done.
func (h *hints) take() (taken map[int]map[string]hint, mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken = h.subjects
	h.subjects, h.count = map[int]map[string]hint{}, 0
	return taken, h.heard
}

// done notes that the index has everything that take returned, except for what is to be read again.
func (h *hints) done(mark uint64, again map[int]map[string]hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for shard, some := range again {
		for subject, about := range some {
			h.put(shard, subject, about)
		}
	}
	if !h.lost && len(again) == 0 {
		h.applied = max(h.applied, mark)
	}
}

// unresolved returns the hints whose write is not among the messages found, unless it has failed for sure.
func unresolved(hints map[string]hint, found []bus.Message, now time.Time) map[string]hint {
	sequences := make(map[string]uint64, len(found))
	for i := range found {
		sequences[found[i].Subject] = found[i].Sequence
	}
	open := map[string]hint{}
	for subject, about := range hints {
		if sequences[subject] <= about.beyond && now.Sub(about.heard) < unresolvedAge {
			open[subject] = about
		}
	}
	return open
}

// failed notes that the index does not have it; it shows when everything is read.
func (h *hints) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
}

// begin returns the mark of a reader that is about to read everything. doneAll notes that it has.
func (h *hints) begin() (mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = false
	return h.heard
}

func (h *hints) doneAll(mark uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 { // otherwise some of them may not be stored yet
		h.applied = max(h.applied, mark)
	}
}

// reached reports whether the index has the messages up to a mark.
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
			_ = s.Unsubscribe() // fails on a closed connection, which has no subscriptions
		}
	}
	for shard := range x.config.Shards {
		subject := subjects.BucketSubject(x.config.Names.StateBucket(shard), "*.*."+subjects.KindDefinition)
		s, err := x.config.JS.Conn().Subscribe(subject, func(m *nats.Msg) {
			// Without the header, or if it is not a number, any sequence will do.
			beyond, _ := strconv.ParseUint(m.Header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
			x.hints.add(shard, m.Subject, hint{beyond: beyond, heard: x.config.Now()})
		})
		if err != nil {
			return stop, err
		}
		subscriptions = append(subscriptions, s)
	}
	x.listening.Store(&subscriptions)
	return stop, nil
}

// awaitEvery is how often a wait checks whether it is over.
const awaitEvery = 2 * time.Millisecond

// Await waits until the index has the definitions that were written before, as far as this process has heard of them. With NATS
// on one server these are all changes that were acknowledged before the call. With several servers it is, as a rule, all but
// those of the last milliseconds. It returns false if the limit passes or ctx ends first, or if the index is being built.
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
		if sleep.For(ctx, awaitEvery) != nil {
			return false
		}
		// A message that was handed over at the same moment may have been counted twice.
		again, _ := x.came()
		mark = min(mark, again)
	}
	return false
}

// came counts the messages about definitions that this process has received. known is false if it does not listen.
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
