package listing

import (
	"context"
	"errors"
	"sync"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// KeyLists lists the keys of namespaces. A list costs more the more schedules there are, whatever the request needs of it. So requests that
// come while a list is being made wait for the next list and share it. A list has every schedule that existed when its request came, and
// many requests make no more lists than there is time for. KeyLists is safe for concurrent use.
type KeyLists struct {
	list  func(ctx context.Context, s *kv.Store, namespace string) ([]schedule.Key, error)
	store *kv.Store

	mu   sync.Mutex
	next map[string]*keyList      // those that have not begun, by namespace
	busy map[string]chan struct{} // of each namespace, full while a list is made
}

// NewKeyLists returns lists that are made by the function list, [kv.Schedules] for example.
func NewKeyLists(
	store *kv.Store, list func(ctx context.Context, s *kv.Store, namespace string) ([]schedule.Key, error),
) *KeyLists {
	return &KeyLists{list: list, store: store, next: map[string]*keyList{}, busy: map[string]chan struct{}{}}
}

// keyList is a list in the making. The first caller that asks for it makes it.
type keyList struct {
	done chan struct{}
	keys []schedule.Key
	err  error
}

// Of returns the keys of a namespace, ordered by ID. Callers share them and must not change them. The error is the error of the list, or
// the error of ctx.
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
		// The caller that made the list may have had less time than this one.
		if !errors.Is(list.err, context.Canceled) && !errors.Is(list.err, context.DeadlineExceeded) {
			return list.keys, list.err
		}
	}
}

// join returns the next list of a namespace, and whether the caller is the first to ask for it.
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

// make waits until the list before is made, and then makes this one. From then on nobody can join it.
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
