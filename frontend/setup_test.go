package frontend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// patience is how long a test waits for what must happen.
const patience = natstest.Patience

// installation is an installation of Carillon without any pool.
type installation struct {
	t     *testing.T
	names subjects.Names
	conn  *nats.Conn
	js    jetstream.JetStream
	store *kv.Store
}

func install(t *testing.T) *installation {
	t.Helper()
	names := natstest.Names(t)
	conn, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	return &installation{t: t, names: names, conn: conn, js: js, store: store}
}

// installed is an installation with a frontend.
func installed(t *testing.T, changes ...func(*frontend.Config)) *installation {
	t.Helper()
	in := install(t)
	in.run(changes...)
	return in
}

// run runs a frontend on its own connection until the end of the test, or until stop is called. stop waits for it.
func (in *installation) run(changes ...func(*frontend.Config)) (stop func()) {
	in.t.Helper()
	conn, js := natstest.Connect(in.t, natstest.Shared(in.t))
	config := frontend.Config{Conn: conn, JS: js, Store: in.store, Names: in.names, Logger: natstest.Logger(in.t)}
	for _, change := range changes {
		change(&config)
	}
	f, err := frontend.New(config)
	require.NoError(in.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	select {
	case <-f.Ready():
	case err := <-ended:
		cancel()
		in.t.Fatalf("the frontend has ended: %v", err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(in.t, <-ended)
	})
	in.t.Cleanup(stop)
	return stop
}

// patient gives requests the time that many at once may need on a slow machine: no test fails because of its speed.
func patient(config *frontend.Config) {
	config.RequestTimeout, config.GuardDelay = patience, 2*patience
}

func (in *installation) key(id string) schedule.Key {
	return schedule.Key{Namespace: "default", ID: id}
}

// ask sends a request as any NATS client can.
func (in *installation) ask(namespace, verb, body string) *nats.Msg {
	in.t.Helper()
	reply, err := in.conn.Request(in.names.API(namespace, subjects.ThingSchedule, verb), []byte(body), patience)
	require.NoError(in.t, err)
	return reply
}

// answer sends a request in the default namespace and decodes the reply. It may be called in any goroutine.
func answer[Reply any](in *installation, verb, body string) (reply Reply, err error) {
	message, err := in.conn.Request(in.names.API("default", subjects.ThingSchedule, verb), []byte(body), patience)
	if err != nil {
		return reply, err
	}
	return decode[Reply](message)
}

// answerTo is answer for a caller that names itself.
func answerTo[Reply any](in *installation, identity, verb, body string) (reply Reply, err error) {
	message, err := in.conn.RequestMsg(&nats.Msg{
		Subject: in.names.API("default", subjects.ThingSchedule, verb), Header: nats.Header{"Carillon-Identity": {identity}}, Data: []byte(body),
	}, patience)
	if err != nil {
		return reply, err
	}
	return decode[Reply](message)
}

func decode[Reply any](message *nats.Msg) (reply Reply, err error) {
	if message.Header.Get(micro.ErrorCodeHeader) == "" {
		return reply, json.Unmarshal(message.Data, &reply)
	}
	var failure struct{ Error *schedule.Error }
	if err := json.Unmarshal(message.Data, &failure); err != nil {
		return reply, err
	}
	return reply, failure.Error
}

func createBody(id, more string) string {
	return fmt.Sprintf(`{"id":%q,"spec":{"intervals":[{"every":"1h"}]},"action":{"type":"http","taskQueue":"q"}%s}`, id, more)
}

// create creates a schedule. more is the body after ID, spec and action, beginning with a comma.
func (in *installation) create(id, more string) schedule.Description {
	in.t.Helper()
	description, err := answer[schedule.Description](in, "create", createBody(id, more))
	require.NoError(in.t, err)
	return description
}

func (in *installation) definition(id string) wire.Definition {
	in.t.Helper()
	record, err := kv.GetLeader(in.t.Context(), in.store, kv.Definition(in.key(id)))
	require.NoError(in.t, err)
	return record.Value
}

// stored returns the last message on a subject of a stream, or nil.
func (in *installation) stored(stream, subject string) *jetstream.RawStreamMsg {
	in.t.Helper()
	s, err := in.js.Stream(in.t.Context(), stream)
	require.NoError(in.t, err)
	message, err := s.GetLastMsgForSubject(in.t.Context(), subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	require.NoError(in.t, err)
	return message
}

// task returns the message on a task or timer subject of a schedule, or nil.
func (in *installation) task(id, subject string) *jetstream.RawStreamMsg {
	in.t.Helper()
	return in.stored(in.names.TaskStream(in.store.ShardOf(in.key(id))), subject)
}

// wake returns the wake on a task subject, or nil.
func (in *installation) wake(id, subject string) *wire.Wake {
	in.t.Helper()
	message := in.task(id, subject)
	if message == nil {
		return nil
	}
	var wake wire.Wake
	require.NoError(in.t, codec.Unmarshal(message.Data, &wake))
	return &wake
}

func (in *installation) generateWake(id string, version uint64) string {
	return in.names.GenerateWake(in.store.ShardOf(in.key(id)), in.key(id), version)
}

func (in *installation) generateGuard(id string, version uint64) string {
	return in.names.GenerateGuard(in.store.ShardOf(in.key(id)), in.key(id), version)
}

func (in *installation) guard(id string, version uint64) string {
	return in.names.GuardTimer(in.store.ShardOf(in.key(id)), in.key(id), version)
}

func (in *installation) backfill(id, trigger string) string {
	return in.names.Backfill(in.store.ShardOf(in.key(id)), in.key(id), trigger)
}

func (in *installation) backfillTimer(id, trigger string) string {
	return in.names.BackfillTimer(in.store.ShardOf(in.key(id)), in.key(id), trigger)
}

// pending returns the records of the triggers of a schedule.
func (in *installation) pending(id string) []wire.BackfillState {
	in.t.Helper()
	keys, err := kv.Backfills(in.t.Context(), in.store, in.key(id))
	require.NoError(in.t, err)
	var states []wire.BackfillState
	for _, k := range keys {
		record, err := kv.Get(in.t.Context(), in.store, k)
		require.NoError(in.t, err)
		states = append(states, record.Value)
	}
	return states
}

// events returns how many events of a kind a schedule has, and the last of them.
func (in *installation) events(id string, kind schedule.EventKind) (count uint64, last schedule.Event) {
	in.t.Helper()
	subject := in.names.Event(in.key(id), kind)
	stream, err := in.js.Stream(in.t.Context(), in.names.EventStream())
	require.NoError(in.t, err)
	info, err := stream.Info(in.t.Context(), jetstream.WithSubjectFilter(subject))
	require.NoError(in.t, err)
	if message := in.stored(in.names.EventStream(), subject); message != nil {
		require.NoError(in.t, json.Unmarshal(message.Data, &last))
		require.Equal(in.t, last.ID, message.Header.Get(nats.MsgIdHdr))
	}
	return info.State.Subjects[subject], last
}

// history returns all events of a schedule in the order in which they were stored.
func (in *installation) history(id string) (all []schedule.Event) {
	in.t.Helper()
	stream, err := in.js.Stream(in.t.Context(), in.names.EventStream())
	require.NoError(in.t, err)
	for next := uint64(1); ; {
		message, err := stream.GetMsg(in.t.Context(), next, jetstream.WithGetMsgSubject(in.names.Events(in.key(id))))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all
		}
		require.NoError(in.t, err)
		var event schedule.Event
		require.NoError(in.t, json.Unmarshal(message.Data, &event))
		all, next = append(all, event), message.Sequence+1
	}
}

// putGenerator writes what the generator would.
func (in *installation) putGenerator(id string, state wire.GeneratorState) {
	in.t.Helper()
	record, err := kv.OrZero(kv.GetLeader(in.t.Context(), in.store, kv.Generator(in.key(id))))
	require.NoError(in.t, err)
	state.Incarnation = in.definition(id).Incarnation
	_, err = kv.Put(in.t.Context(), in.store, kv.Generator(in.key(id)), &state, record.Revision)
	require.NoError(in.t, err)
}

// hookedBus runs a hook before each message that it stores itself, and fails if the hook fails.
type hookedBus struct {
	bus.Bus
	before func(context.Context, *nats.Msg) error
}

func (h hookedBus) Publish(ctx context.Context, message *nats.Msg) error {
	if err := h.before(ctx, message); err != nil {
		return err
	}
	return h.Bus.Publish(ctx, message)
}

// hook makes a frontend call before ahead of each message that it stores itself: all except events and records.
func hook(before func(context.Context, *nats.Msg) error) func(*frontend.Config) {
	return func(c *frontend.Config) {
		c.Bus = hookedBus{Bus: bus.New(c.JS), before: before}
	}
}

// told checks which events a definition keeps for the generator, and returns them. The events of one version follow those of the
// version before.
func (in *installation) told(id string, kinds ...schedule.EventKind) []wire.DefinitionEvent {
	in.t.Helper()
	events := in.definition(id).Events
	require.Len(in.t, events, len(kinds))
	for i, e := range events {
		require.Equal(in.t, kinds[i], e.Event.Kind)
		require.EqualValues(in.t, i+1, e.Version)
		_, stored := in.events(id, kinds[i])
		if i == len(kinds)-1 {
			require.Equal(in.t, stored.ID, e.Event.ID, "the frontend stores it as well")
		}
	}
	return events
}
