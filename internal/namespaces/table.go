package namespaces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// retryDelay is how long a table waits before it tries again after a watch could not begin or has ended.
const retryDelay = 500 * time.Millisecond

// All returns the records of all namespaces.
func (f Fixed) All() []schedule.Namespace { return slices.Collect(maps.Values(f)) }

// errEnded means that a watch has ended by itself.
var errEnded = errors.New("the watch has ended")

// Table has the current records of all namespaces of a cluster. It is a copy in the memory of this process, kept up to date by a
// watch, which a change reaches within milliseconds. While NATS cannot be reached it keeps what it has. It is safe for concurrent
// use, and a nil Table knows no namespace.
type Table struct {
	js     jetstream.JetStream
	bucket string
	log    *slog.Logger
	ready  chan struct{}

	mu      sync.RWMutex
	records map[string]schedule.Namespace
}

// NewTable returns a table that is empty until Run is called.
func NewTable(js jetstream.JetStream, names subjects.Names, log *slog.Logger) *Table {
	return &Table{js: js, bucket: names.ClusterBucket(), log: log, ready: make(chan struct{})}
}

// Ready returns a channel that is closed when the table has been filled for the first time.
func (t *Table) Ready() <-chan struct{} { return t.ready }

// Get returns the record of a namespace.
func (t *Table) Get(name string) (schedule.Namespace, bool) {
	if t == nil {
		return schedule.Namespace{}, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	record, ok := t.records[name]
	return record, ok
}

// All returns the records of all namespaces.
func (t *Table) All() []schedule.Namespace {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.records))
}

// Run keeps the table up to date until ctx ends. It starts a new watch when one ends, and when the connection has come back:
// otherwise changes made meanwhile would show some seconds late. It may be called once.
func (t *Table) Run(ctx context.Context) {
	reconnected := t.js.Conn().StatusChanged(nats.CONNECTED)
	defer t.js.Conn().RemoveStatusListener(reconnected)
	for ctx.Err() == nil {
		err := t.watch(ctx, reconnected)
		if err == nil {
			continue
		}
		t.log.DebugContext(ctx, "watch namespaces anew", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

// watch follows the records. It returns nil when ctx ends or the connection has come back, and an error if the watch fails.
func (t *Table) watch(ctx context.Context, reconnected <-chan nats.Status) error {
	bucket, err := t.js.KeyValue(ctx, t.bucket)
	if err != nil {
		return fmt.Errorf("namespaces: open bucket %s: %w", t.bucket, err)
	}
	watcher, err := bucket.Watch(ctx, subjects.NamespaceKeys())
	if err != nil {
		return fmt.Errorf("namespaces: watch bucket %s: %w", t.bucket, err)
	}
	defer end(watcher)
	found := map[string]schedule.Namespace{} // nil once the table has been filled
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-reconnected:
			return nil
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return errEnded
			case entry == nil:
				t.fill(found)
				found = nil
			case found != nil:
				t.apply(found, entry)
			default:
				t.update(entry)
			}
		}
	}
}

// end ends a watch. It discards the updates that have arrived, because nats.go would wait for somebody to receive them.
func end(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop() // an error means that it has ended, or the connection has
	for range watcher.Updates() {
	}
}

// fill replaces all records by the first ones of a watch.
func (t *Table) fill(found map[string]schedule.Namespace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records == nil {
		close(t.ready)
	}
	t.records = found
}

func (t *Table) update(entry jetstream.KeyValueEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.apply(t.records, entry)
}

// apply applies one update of a watch. If the record cannot be read, what was known of it stays, also from an earlier watch, and is marked; if nothing was,
// the namespace has no limits. Stopping all its schedules would be worse.
func (t *Table) apply(records map[string]schedule.Namespace, entry jetstream.KeyValueEntry) {
	if entry.Operation() != jetstream.KeyValuePut {
		delete(records, subjects.NamespaceOfKey(entry.Key()))
		return
	}
	record, err := decode(entry.Key(), entry.Value())
	if err != nil {
		t.log.Error("a namespace keeps the limits it had, and nothing of it is removed", "error", err)
		for _, known := range []map[string]schedule.Namespace{t.records, records} {
			if before, ok := known[record.Name]; ok {
				record = before
			}
		}
		record.Unreadable = true
	}
	records[record.Name] = record
}

// Source knows namespaces. Both kinds of it, [Table] and [Fixed], are safe for concurrent use.
type Source interface {
	// Get returns the record of a namespace, and whether there is one. It answers from memory and never waits. The record is
	// shared: do not change what it points to.
	Get(name string) (schedule.Namespace, bool)
	// All returns the records of all namespaces, in no order.
	All() []schedule.Namespace
}

// Fixed has namespaces that never change, by name. A nil Fixed has none.
type Fixed map[string]schedule.Namespace

// Get returns the record of a namespace.
func (f Fixed) Get(name string) (schedule.Namespace, bool) {
	record, ok := f[name]
	return record, ok
}
