package namespaces

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// maxListed is the number of schedules up to which they are listed to find out about the last free places. A list is exact,
	// and takes longer the more there are.
	maxListed = 50_000
	// fullAge is how long a namespace that was found full counts as full.
	fullAge = 200 * time.Millisecond
	// maxWrites bounds the attempts to write a tally that other frontends write at the same time.
	maxWrites = 64
)

// Counter counts the schedules of a namespace.
type Counter struct {
	// AtMost returns how many there are, including those deleted within the last hour. It is quick whatever their number.
	AtMost func(ctx context.Context, namespace string) (int, error)
	// List returns all keys, ordered by ID.
	List func(ctx context.Context, namespace string) ([]schedule.Key, error)
}

// Places makes sure that namespaces do not exceed their limit of schedules: whoever creates a schedule first takes a place for
// it. It is safe for concurrent use, and for several frontends at once.
//
// Taken places are recorded for all frontends, by compare-and-set, before any schedule is written. If thousands are free, a
// frontend takes some in advance, so that a create costs nothing.
type Places struct {
	cluster *kv.Cluster
	count   Counter
	now     func() time.Time

	mu    sync.Mutex
	books map[string]*book
}

// book is what a frontend knows of the places of a namespace. It belongs to the goroutine that holds turn.
type book struct {
	turn chan struct{}
	// left is how many places the frontend has, until a time and as long as the limit does not change.
	left  int
	until time.Time
	limit int
	// full is why the last create was refused; fullUntil is how long that holds.
	full      *schedule.Error
	fullUntil time.Time
}

// NewPlaces returns the places in a cluster bucket.
func NewPlaces(cluster *kv.Cluster, count Counter, now func() time.Time) *Places {
	return &Places{cluster: cluster, count: count, now: now, books: map[string]*book{}}
}

// Take takes a place for a schedule that is about to be created. The place need not be given back, because the schedules are
// counted again before places run out. If there is none, the error is a *schedule.Error with CodeResourceExhausted.
func (p *Places) Take(ctx context.Context, key schedule.Key, limit int) error {
	b := p.book(key.Namespace)
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := p.now()
	switch {
	case b.limit != limit:
		b.left, b.full, b.limit = 0, nil, limit
	case b.left > 0 && now.Before(b.until):
		b.left--
		return nil
	case b.full != nil && now.Before(b.fullUntil):
		return b.full
	}
	return p.take(ctx, key, b)
}

// Forget removes what is recorded about a deleted namespace.
func (p *Places) Forget(ctx context.Context, namespace string) error {
	p.mu.Lock()
	delete(p.books, namespace)
	p.mu.Unlock()
	return p.cluster.Remove(ctx, subjects.PlacesKey(namespace))
}

func (p *Places) book(namespace string) *book {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.books[namespace]
	if b == nil {
		b = &book{turn: make(chan struct{}, 1)}
		p.books[namespace] = b
	}
	return b
}

// take takes places from the stored tally, and puts those for later into the book.
func (p *Places) take(ctx context.Context, key schedule.Key, b *book) error {
	record := subjects.PlacesKey(key.Namespace)
	for range maxWrites {
		// Every attempt reads, even after a write of this frontend: one that need not read would always be quicker than the others,
		// and they would never get a place.
		current, revision, err := p.read(ctx, record)
		if err != nil {
			return err
		}
		now := p.now()
		if current.stale(b.limit, now) {
			if current, err = p.recount(ctx, key.Namespace, current, b.limit); err != nil {
				return err
			}
			now = p.now()
		}
		next, places := current.grant(key.ID, b.limit, now)
		if places == 0 {
			b.full, b.fullUntil = errFull(key.Namespace, b.limit, current.wait(now)), now.Add(fullAge)
			return b.full
		}
		_, err = kv.PutJSON(ctx, p.cluster, record, &next, revision)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err == nil {
			b.left, b.until, b.full = places-1, now.Add(grantAge), nil
		}
		return err
	}
	return schedule.Errorf(schedule.CodeUnavailable,
		"too many frontends create schedules in namespace %q at the same time: try again", key.Namespace)
}

// read returns the stored tally and its revision: the zero values if there is none that can be read, so that schedules are counted.
func (p *Places) read(ctx context.Context, key string) (tally, uint64, error) {
	record, err := kv.GetJSON[tally](ctx, p.cluster, key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) && !errors.Is(err, kv.ErrCorrupt) {
		return tally{}, 0, err
	}
	return record.Value, record.Revision, nil
}

// recount counts the schedules. It counts exactly if that decides about the last free places.
func (p *Places) recount(ctx context.Context, namespace string, t tally, limit int) (tally, error) {
	atMost, err := p.count.AtMost(ctx, namespace)
	if err != nil {
		return t, fmt.Errorf("namespaces: count the schedules of %s: %w", namespace, err)
	}
	counted := t.counted(atMost, p.now())
	if counted.Count < limit || atMost > maxListed {
		return counted, nil
	}
	keys, err := p.count.List(ctx, namespace)
	if err != nil {
		return t, fmt.Errorf("namespaces: list the schedules of %s: %w", namespace, err)
	}
	return t.listed(keys, p.now()), nil
}

// errFull refuses a schedule. wait is how long until a place may turn out to be free.
func errFull(namespace string, limit int, wait time.Duration) *schedule.Error {
	err := schedule.Errorf(schedule.CodeResourceExhausted,
		"namespace %q has its %d schedules (limits.maxSchedules): delete some, or ask for a higher limit", namespace, limit)
	err.RetryAfter = schedule.Duration(wait.Round(time.Millisecond))
	return err
}
