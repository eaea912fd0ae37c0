package listing

import (
	"context"
	"errors"
	"sync"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// KeyLists lists the keys of namespaces, which costs the more the more schedules there are, whatever is asked for of them.
// Requests that come while a list is made wait for the next one and share it: what was there when a request came is in its
// list, and many requests take no more lists than there is time for. It is safe for concurrent use.
type KeyLists struct {
	list  func(ctx context.Context, s *kv.Store, namespace string) ([]schedule.Key, error)
	store *kv.Store

	mu   sync.Mutex
	next map[string]*keyList      // those that have not begun, by namespace
	busy map[string]chan struct{} // of each namespace, full while a list is made
}

// NewKeyLists returns the lists that list makes, such as [kv.Schedules].
func NewKeyLists(
	store *kv.Store, list func(ctx context.Context, s *kv.Store, namespace string) ([]schedule.Key, error),
) *KeyLists {
	return &KeyLists{list: list, store: store, next: map[string]*keyList{}, busy: map[string]chan struct{}{}}
}

// keyList is a list in the making. The first that asks for it makes it.
type keyList struct {
	done chan struct{}
	keys []schedule.Key
	err  error
}

// Of returns the keys of a namespace, ordered by ID. They are shared: nobody may change them.
func (l *KeyLists) Of(ctx context.Context, namespace string) ([]schedule.Key, error) {
	for {
		list, first := l.join(namespace)
		if first {
			l.make(ctx, namespace, list)
			return list.keys, list.err
		}
		select {
		case <-list.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Whoever has made it may have had less time than others.
		if !errors.Is(list.err, context.Canceled) && !errors.Is(list.err, context.DeadlineExceeded) {
			return list.keys, list.err
		}
	}
}

// join returns the next list of a namespace, and whether the caller is the first that asks for it.
func (l *KeyLists) join(namespace string) (list *keyList, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.next[namespace]; list != nil {
		return list, false
	}
	list = &keyList{done: make(chan struct{})}
	l.next[namespace] = list
	if l.busy[namespace] == nil {
		l.busy[namespace] = make(chan struct{}, 1)
	}
	return list, true
}

// make waits for the list before, and makes this one, which nobody can join any more by then.
func (l *KeyLists) make(ctx context.Context, namespace string, list *keyList) {
	defer close(list.done)
	l.mu.Lock()
	busy := l.busy[namespace]
	l.mu.Unlock()
	select {
	case busy <- struct{}{}:
		defer func() { <-busy }()
	case <-ctx.Done():
		list.err = ctx.Err()
	}
	l.mu.Lock()
	delete(l.next, namespace)
	l.mu.Unlock()
	if list.err == nil {
		list.keys, list.err = l.list(ctx, l.store, namespace)
	}
}
