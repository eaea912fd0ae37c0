package loop

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// patience is how long a test waits for what must come, on a machine that is busy with other tests.
const patience = natstest.Patience

// garbage is a body that the test handler cannot decode.
const garbage = "garbage"

// handlerFunc is a handler whose messages are text.
type handlerFunc func(ctx context.Context, key schedule.Key, group []Message[string]) Verdict

func (h handlerFunc) Decode(_ subjects.Task, msg jetstream.Msg) (string, error) {
	if string(msg.Data()) == garbage {
		return "", errors.New("cannot read garbage")
	}
	return string(msg.Data()), nil
}

func (h handlerFunc) Handle(ctx context.Context, key schedule.Key, group []Message[string]) Verdict {
	return h(ctx, key, group)
}

// testBundle is an installation with nothing in it but streams.
type testBundle struct {
	*testing.T
	js    jetstream.JetStream
	names subjects.Names
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	return setupOn(t, js, 1)
}

func setupOn(t *testing.T, js jetstream.JetStream, shards int) *testBundle {
	t.Helper()
	b := &testBundle{T: t, js: js, names: natstest.Names(t)}
	b.ensure(shards)
	return b
}

func (b *testBundle) ensure(shards int) {
	b.Helper()
	_, err := topology.Ensure(b.Context(), b.js, b.names, topology.Settings{Shards: shards})
	require.NoError(b, err)
}

// neverRedeliver makes the consumer wait so long for acknowledgements that what comes again was given back.
func (b *testBundle) neverRedeliver() {
	b.Helper()
	config := b.names.PoolConsumers(0)[0].Config
	config.AckWait = time.Hour
	_, err := b.js.UpdateConsumer(b.Context(), b.names.TaskStream(0), config)
	require.NoError(b, err)
}

func (b *testBundle) config() Config {
	return Config{
		Bus: natstest.Bus(b, b.js), Names: b.names, Pool: subjects.PoolGenerator, Shards: 1, Logger: natstest.Logger(b),
	}
}

// run runs a loop until stop is called or the test ends. What a loop that has ended still holds is a failure.
func (b *testBundle) run(config Config, handle handlerFunc) (stop func()) {
	b.Helper()
	return b.runHandler(config, handle)
}

func (b *testBundle) runHandler(config Config, handler Handler[string]) (stop func()) {
	b.Helper()
	return b.start(New(config, handler))
}

func (b *testBundle) start(l *Loop[string]) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(b, <-done)
		requireReleased(b, l)
	})
	b.Cleanup(stop)
	return stop
}

// awaitGroup waits until a loop has a group of a schedule about which something holds.
func (b *testBundle) awaitGroup(l *Loop[string], id, what string, holds func(*group[string]) bool) *group[string] {
	b.Helper()
	var g *group[string]
	natstest.Eventually(b, patience, what, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		g = l.groups[keyOf(id)]
		return g != nil && holds(g)
	})
	return g
}

func requireReleased(t assert.TestingT, l *Loop[string]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Empty(t, l.slots, "slots")
	assert.Empty(t, l.ready, "groups to handle")
	assert.Zero(t, l.handlers, "goroutines")
	assert.Empty(t, l.idle, "goroutines that wait")
	assert.Empty(t, l.groups, "groups")
}

func keyOf(id string) schedule.Key { return schedule.Key{Namespace: "default", ID: id} }

// publish sends a message whose body is what, for a schedule. One on the same subject would replace it.
func (b *testBundle) publish(id, what string) {
	b.Helper()
	b.publishMsg(id, what, nil, []byte(what))
}

// publishMsg returns the sequence of the message, as text.
func (b *testBundle) publishMsg(id, what string, header nats.Header, body []byte) string {
	b.Helper()
	msg := &nats.Msg{Subject: b.names.Generate(0, keyOf(id), what), Header: header, Data: body}
	stored, err := b.js.PublishMsg(b.Context(), msg)
	require.NoError(b, err)
	return strconv.FormatUint(stored.Sequence, 10)
}

// stored counts the messages of a stream, without its pulse.
func (b *testBundle) stored(stream string) (count uint64) {
	stored, _ := natstest.Stored(b.Context(), b.js, stream)
	for _, messages := range stored {
		count += messages
	}
	return count
}

func (b *testBundle) awaitEmpty() {
	b.Helper()
	natstest.Eventually(b, patience, "no task is left", func() bool { return b.stored(b.names.TaskStream(0)) == 0 })
}

// letters returns the dead letters, once there are that many.
func (b *testBundle) letters(count int) []*jetstream.RawStreamMsg {
	b.Helper()
	stream := b.names.DeadLetterStream()
	natstest.Eventually(b, patience, strconv.Itoa(count)+" dead letters", func() bool {
		return b.stored(stream) >= uint64(count)
	})
	s, err := b.js.Stream(b.Context(), stream)
	require.NoError(b, err)
	require.EqualValues(b, count, s.CachedInfo().State.Msgs)
	letters := make([]*jetstream.RawStreamMsg, count)
	for i := range letters {
		letters[i], err = s.GetMsg(b.Context(), uint64(i+1))
		require.NoError(b, err)
		for _, name := range []string{"Nats-Sequence", "Nats-Stream", "Nats-Subject", "Nats-Time-Stamp"} {
			letters[i].Header.Del(name) // they say where it was read
		}
	}
	return letters
}

// journal records the groups a handler was called with.
type journal struct {
	mu     sync.Mutex
	groups []call
}

type call struct {
	id     string
	bodies []string
	held   []bool
	// deliveries is the highest of the group.
	deliveries uint64
	at         time.Time
}

func (j *journal) add(key schedule.Key, group []Message[string]) (calls int) {
	c := call{id: key.ID, at: time.Now()}
	for _, m := range group {
		c.bodies, c.held = append(c.bodies, m.Body), append(c.held, m.Held)
		c.deliveries = max(c.deliveries, m.Deliveries)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.groups = append(j.groups, c)
	return len(j.groups)
}

func (j *journal) all() []call {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]call(nil), j.groups...)
}

func (j *journal) await(t *testing.T, count int) []call {
	t.Helper()
	natstest.Eventually(t, patience, strconv.Itoa(count)+" groups have been handled", func() bool { return len(j.all()) >= count })
	return j.all()
}

// MayWait implements Patient: what is called "w…" may wait.
func (h handlerFunc) MayWait(body string) bool { return strings.HasPrefix(body, "w") }
