package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
)

// TestBesideALaterRelease runs the pools of this release beside those of a later one with the same format version. Everything
// that the later one writes, records, tasks and requests, has fields that this release does not know. Both work on the same
// schedules.
func TestBesideALaterRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("two installations at once are too much for the race detector, and meet in nothing but NATS")
	}
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	s := newSystem(t, conn, js, topology.Settings{})
	later := &laterRelease{}
	later.run(s)

	runs := s.work(conn, "q", nil)
	load := startLoad(s)
	awaitRuns(t, runs, load.schedules(), 4)
	load.end()
	load.check(runs)
	for _, id := range []string{id(0), id(1), "triggered", "one-by-one"} {
		info := s.describe(id).Info
		assert.Zero(t, info.MissedCatchupWindow+info.OverlapSkipped+info.BufferDropped, id)
		s.requireCountersFromEvents(id)
	}
	assert.Greater(t, later.records.Load(), int64(50), "the later release has had its part")
	assert.Greater(t, later.messages.Load(), int64(50))
}

// laterRelease is this release, with additions to what it writes.
type laterRelease struct{ records, messages atomic.Int64 }

func (l *laterRelease) run(s *system) {
	t := s.t
	conn, js := natstest.Connect(t, natstest.Shared(t))
	buckets, err := kv.OpenBuckets(t.Context(), js, s.names, s.store.Shards())
	require.NoError(t, err)
	store := kv.NewStore(laterBuckets{buckets, l}, s.names, s.store.Shards())
	logger := natstest.Logger(t)
	newBus := func() bus.Bus { return laterBus{natstest.Bus(t, js), l} }

	front, err := frontend.New(frontend.Config{Conn: conn, JS: js, Store: store, Names: s.names, Logger: logger})
	require.NoError(t, err)
	gen, err := generator.New(generator.Config{Config: pool.Config{Bus: newBus(), Store: store, Names: s.names, Logger: logger}})
	require.NoError(t, err)
	inv, err := invoker.New(invoker.Config{Config: pool.Config{Bus: newBus(), Store: store, Names: s.names, Logger: logger}})
	require.NoError(t, err)
	back, err := backfiller.New(pool.Config{Bus: newBus(), Store: store, Names: s.names, Logger: logger})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	roles := []interface{ Run(context.Context) error }{front, gen, inv, back}
	done := make(chan error, len(roles))
	for _, role := range roles {
		go func() { done <- role.Run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range roles {
			assert.NoError(t, <-done)
		}
	})
	natstest.Eventually(t, natstest.Patience, "the frontend", func() bool { return closed(front.Ready()) })
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

type laterBuckets struct {
	kv.Buckets
	release *laterRelease
}

func (b laterBuckets) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	b.release.records.Add(1)
	return b.Buckets.Create(ctx, bucket, key, extended(data))
}

func (b laterBuckets) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	b.release.records.Add(1)
	return b.Buckets.Update(ctx, bucket, key, extended(data), revision)
}

type laterBus struct {
	bus.Bus
	release *laterRelease
}

func (b laterBus) Publish(ctx context.Context, msg *nats.Msg) error {
	return b.Bus.Publish(ctx, b.later(msg))
}

func (b laterBus) PublishOnce(ctx context.Context, msg *nats.Msg) (bool, error) {
	return b.Bus.PublishOnce(ctx, b.later(msg))
}

func (b laterBus) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	later := make([]*nats.Msg, len(msgs))
	for i, msg := range msgs {
		later[i] = b.later(msg)
	}
	return b.Bus.PublishAll(ctx, later)
}

func (b laterBus) later(msg *nats.Msg) *nats.Msg {
	b.release.messages.Add(1)
	return &nats.Msg{Subject: msg.Subject, Header: msg.Header, Data: extended(msg.Data)}
}

// extended adds fields to an encoded value: to a record, and to the JSON of a request to a worker. An empty body stays empty.
func extended(data []byte) []byte {
	var value any
	switch {
	case len(data) == 0:
		return data
	case data[0] == '{':
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			panic(err)
		}
		data, err := json.Marshal(withLaterFields(value))
		if err != nil {
			panic(err)
		}
		return data
	case data[0] != codec.FormatVersion:
		panic(fmt.Sprintf("neither a record nor JSON: %q", data))
	}
	if err := msgpack.Unmarshal(data[1:], &value); err != nil {
		panic(err)
	}
	data, err := msgpack.Marshal(withLaterFields(value))
	if err != nil {
		panic(err)
	}
	return append([]byte{codec.FormatVersion}, data...)
}

// withLaterFields adds a field to each struct of a value. Maps that belong to the user, and those from IDs to structs, stay as
// they are.
func withLaterFields(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = withLaterFields(value[i])
		}
	case map[string]any:
		for name, field := range value {
			switch name {
			case "headers", "memo", "searchAttributes", "input", "sources":
			default:
				value[name] = withLaterFields(field)
			}
		}
		value["fieldOfALaterRelease"] = map[string]any{"nested": []any{1, "two"}}
	}
	return value
}
