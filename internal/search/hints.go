package search

import (
	"sync"

	"github.com/nats-io/nats.go"

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
}

func newHints() *hints {
	return &hints{subjects: map[int]map[string]struct{}{}, some: make(chan struct{}, 1)}
}

func (h *hints) add(shard int, subject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= maxHints {
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

// take returns the subjects there are, by shard, and forgets them.
func (h *hints) take() map[int]map[string]struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.subjects
	h.subjects, h.count = map[int]map[string]struct{}{}, 0
	return taken
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
	return stop, nil
}
