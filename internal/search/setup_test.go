package search_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// patience is how long a test waits for what must happen.
const patience = natstest.Patience

// noon is when the schedules of the tests were created.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// installation is an installation of Carillon without any role.
type installation struct {
	t     testing.TB
	names subjects.Names
	js    jetstream.JetStream
	facts topology.Facts
	store *kv.Store
}

func install(t testing.TB) *installation {
	t.Helper()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	return &installation{t: t, names: names, js: js, facts: facts, store: store}
}

func (in *installation) config() search.Config {
	return search.Config{
		JS: in.js, Names: in.names, Shards: in.facts.Shards, Created: in.facts.Created,
		Interval: 20 * time.Millisecond, Logger: natstest.Logger(in.t),
	}
}

// run runs an index until the end of the test, or until stop is called. stop waits for it.
func run(t testing.TB, config search.Config) (index *search.Index, stop func()) {
	t.Helper()
	index, err := search.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- index.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return index, stop
}

func key(id string) schedule.Key { return schedule.Key{Namespace: "default", ID: id} }

// define returns a valid definition.
func define(id string, changes ...func(*wire.Definition)) *wire.Definition {
	d := &wire.Definition{
		Namespace: "default", ID: id, Incarnation: "one", Version: 1, CreateTime: noon,
		Schedule: schedule.Schedule{Action: schedule.Action{Type: "report", TaskQueue: "default"}},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func paused(d *wire.Definition) { d.Schedule.State.Paused = true }

func attribute(name, value string) func(*wire.Definition) {
	return func(d *wire.Definition) {
		if d.Schedule.Action.SearchAttributes == nil {
			d.Schedule.Action.SearchAttributes = map[string]json.RawMessage{}
		}
		d.Schedule.Action.SearchAttributes[name] = json.RawMessage(value)
	}
}

// put writes a record, whether or not there is one.
func put[T any](in *installation, key kv.Key[T], value *T) {
	in.t.Helper()
	record, err := kv.OrZero(kv.GetLeader(in.t.Context(), in.store, key))
	require.NoError(in.t, err)
	_, err = kv.Put(in.t.Context(), in.store, key, value, record.Revision)
	require.NoError(in.t, err)
}

func (in *installation) define(id string, changes ...func(*wire.Definition)) {
	in.t.Helper()
	put(in, kv.Definition(key(id)), define(id, changes...))
}

// remove deletes a record.
func remove[T any](in *installation, key kv.Key[T]) {
	in.t.Helper()
	record, err := kv.GetLeader(in.t.Context(), in.store, key)
	require.NoError(in.t, err)
	require.NoError(in.t, kv.Delete(in.t.Context(), in.store, key, record.Revision))
}

func parse(t testing.TB, text string) *query.Query {
	t.Helper()
	q, err := query.Parse(text)
	require.NoError(t, err)
	return q
}

// find returns the IDs that a query finds, in its order.
func find(t testing.TB, index *search.Index, text string) (ids []string, err error) {
	t.Helper()
	positions, _, err := index.List(t.Context(), "default", "", parse(t, text), search.Position{}, 1000)
	for _, p := range positions {
		ids = append(ids, p.ID)
	}
	return ids, err
}

// eventually waits until a query finds exactly these, in this order.
func eventually(t testing.TB, index *search.Index, text string, want ...string) {
	t.Helper()
	natstest.Eventually(t, patience, text+" finds what it should", func() bool {
		ids, err := find(t, index, text)
		return err == nil && slices.Equal(want, ids)
	})
}
