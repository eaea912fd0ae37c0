package pages

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/singleflight"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// viewer is for whom something has been found out: a user, by the connection that only they use, and a namespace. Nobody sees what another user may see.
type viewer struct {
	conn      *nats.Conn
	namespace string
	// page is the address of a page that is kept as a whole, and identity whose name is on it. Both are empty for parts of pages.
	page, identity string
}

// memo keeps what has been found out for a moment, so that many viewers cost as much as one. It is safe for concurrent use.
type memo[V any] struct {
	// fresh is how long a value is shown without a new look, and stale how long it is shown while somebody looks anew. A look that takes long is
	// done seldom: fresh is at least ten times as long as it took, within stale.
	fresh, stale time.Duration
	now          func() time.Time
	flights      singleflight.Group
	mu           sync.Mutex
	kept         map[viewer]found[V]
	// turn counts the calls of forget: a look that began before one finds what is no more.
	turn int
	// loads are those in progress, and stop ends them. Nobody may begin one after close.
	loads  sync.WaitGroup
	base   context.Context
	stop   context.CancelFunc
	closed bool
}

// mostKept is how many results a memo has at most.
const mostKept = 1000

// found is what came of a look.
type found[V any] struct {
	value V
	err   error
	// caught is what a look has panicked with, and where; empty if it has not.
	caught string
	// at is when the look was over, and took how long it took.
	at   time.Time
	took time.Duration
}

const (
	// lookTime bounds one look.
	lookTime = 5 * time.Second
	// seldom is how many times as long as a look took there is no other one.
	seldom = 10
)

func newMemo[V any](fresh, stale time.Duration, now func() time.Time) *memo[V] {
	m := &memo[V]{fresh: fresh, stale: stale, now: now, kept: map[viewer]found[V]{}}
	m.base, m.stop = context.WithCancel(context.Background()) //permit:context.Background a look outlives the request that began it; close ends it
	return m
}

// get returns what is known for somebody. It waits for a look only if what is known is too old, and not longer than ctx.
func (m *memo[V]) get(ctx context.Context, asks *speaker.Speaker, look func(context.Context) (V, error)) (V, error) {
	return m.of(ctx, viewer{conn: asks.Conn, namespace: asks.Namespace()}, look)
}

// of is get for a viewer.
func (m *memo[V]) of(ctx context.Context, who viewer, look func(context.Context) (V, error)) (V, error) {
	known, age, turn := m.known(who)
	if age < min(max(m.fresh, seldom*known.took), m.stale) {
		return known.value, known.err
	}
	flight := m.flights.DoChan(fmt.Sprintf("%p %s %d %s %q", who.conn, who.namespace, turn, who.identity, who.page), func() (any, error) { return m.look(who, turn, look), nil })
	if age < m.stale {
		return known.value, known.err
	}
	select {
	case came := <-flight:
		seen := came.Val.(found[V])
		if seen.caught != "" {
			panic(seen.caught) // where it ends this request alone
		}
		return seen.value, seen.err
	case <-ctx.Done():
		return known.value, ctx.Err()
	}
}

// ask returns what is known for somebody, by a look that needs NATS.
func ask[V any](ctx context.Context, m *memo[V], asks *speaker.Speaker, look func(context.Context) (V, error)) (V, error) {
	return m.get(ctx, asks, func(ctx context.Context) (V, error) {
		if !asks.Conn.IsConnected() {
			var none V
			return none, errAway
		}
		return look(ctx)
	})
}

// known returns what is kept, how old it is, and the turn.
func (m *memo[V]) known(who viewer) (kept found[V], age time.Duration, turn int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ok := m.kept[who]
	if !ok {
		return kept, m.stale, m.turn
	}
	return kept, m.now().Sub(kept.at), m.turn
}

// look finds out, and keeps what came of it. What nobody has asked for any more is forgotten.
func (m *memo[V]) look(who viewer, turn int, look func(context.Context) (V, error)) (seen found[V]) {
	if seen.err = m.begin(); seen.err != nil {
		return seen
	}
	defer m.loads.Done()
	ctx, cancel := context.WithTimeout(m.base, lookTime)
	defer cancel()
	began := m.now()
	seen.value, seen.caught, seen.err = tried(ctx, look)
	m.mu.Lock()
	defer m.mu.Unlock()
	seen.at = m.now()
	seen.took = seen.at.Sub(began)
	m.drop(seen.at)
	if turn == m.turn && seen.caught == "" {
		m.kept[who] = seen
	}
	return seen
}

// drop forgets what is too old, and the oldest if there is no room for another one. The caller holds the lock.
func (m *memo[V]) drop(now time.Time) {
	var oldest viewer
	for who, kept := range m.kept {
		if now.Sub(kept.at) >= m.stale {
			delete(m.kept, who)
			continue
		}
		if first, ok := m.kept[oldest]; !ok || kept.at.Before(first.at) {
			oldest = who
		}
	}
	if len(m.kept) >= mostKept {
		delete(m.kept, oldest)
	}
}

// tried looks. No caller of a look in a flight would catch a panic, so it would end the process.
func tried[V any](ctx context.Context, look func(context.Context) (V, error)) (value V, caught string, err error) {
	defer func() {
		if with := recover(); with != nil {
			caught = fmt.Sprintf("%v\n%s", with, debug.Stack())
		}
	}()
	value, err = look(ctx)
	return value, "", err
}

func (m *memo[V]) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return context.Canceled
	}
	m.loads.Add(1)
	return nil
}

// forget lets the next one look anew, for all users: somebody has changed something.
func (m *memo[V]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.kept)
	m.turn++
}

// close ends the looks in progress and waits for them.
func (m *memo[V]) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.loads.Wait()
}
