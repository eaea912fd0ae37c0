package worker

import (
	"sync"
	"time"
)

// recent remembers a limited number of values by key, for a while. Beyond the limit, it forgets the oldest. It is safe for concurrent use.
type recent[V any] struct {
	limit int
	age   time.Duration

	mu      sync.Mutex
	entries map[string]dated[V]
	ring    []string // the keys, in order of arrival from next on once the ring is full
	next    int
}

type dated[V any] struct {
	value V
	since time.Time
}

func newRecent[V any](limit int, age time.Duration) *recent[V] {
	return &recent[V]{limit: limit, age: age, entries: map[string]dated[V]{}}
}

// add remembers a value. It replaces an earlier value of the same key.
func (r *recent[V]) add(key string, value V, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.entries[key]
	r.entries[key] = dated[V]{value, now}
	switch {
	case known:
	case len(r.ring) < r.limit:
		r.ring = append(r.ring, key)
	default:
		delete(r.entries, r.ring[r.next])
		r.ring[r.next] = key
		r.next = (r.next + 1) % r.limit
	}
}

// reaches reports whether it has all the values of the given age back: none of them had to make room.
func (r *recent[V]) reaches(age time.Duration, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < r.limit {
		return true
	}
	return now.Sub(r.entries[r.ring[r.next]].since) > age
}

// get returns the value of a key, unless it is unknown, forgotten or too old.
func (r *recent[V]) get(key string, now time.Time) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry, ok := r.entries[key]
	if !ok || now.Sub(entry.since) > r.age {
		var zero V
		return zero, false
	}
	return entry.value, true
}
