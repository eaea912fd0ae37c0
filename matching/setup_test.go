package matching_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

var (
	workflows  = offer.Queue{Namespace: "default", Kind: offer.Workflow, Name: "q q"}
	activities = offer.Queue{Namespace: "default", Kind: offer.Activity, Name: "a"}
)

// bench has a NATS server, a gateway, and what history does.
type bench struct {
	url     string
	conn    *nats.Conn
	js      jetstream.JetStream
	names   subjects.Names
	polls   *offer.Polls
	history *history
}

func newBench(t testing.TB, url string, replicas int) *bench {
	t.Helper()
	conn, js := natstest.Connect(t, url)
	b := &bench{url: url, conn: conn, js: js, names: natstest.Names(t)}
	for _, config := range b.names.StreamConfigs(1, replicas) {
		if config.Name == b.names.BacklogStream() || config.Name == b.names.DeadLetterStream() {
			natstest.Eventually(t, natstest.Patience, "there is a stream", func() bool {
				_, err := js.CreateStream(t.Context(), config)
				return err == nil
			})
		}
	}
	b.history = newHistory(t, url, b.names)
	b.polls = b.gateway(t)
	return b
}

// gateway runs the polls of one more process.
func (b *bench) gateway(t testing.TB) *offer.Polls {
	t.Helper()
	conn, _ := natstest.Connect(t, b.url)
	polls, err := offer.NewPolls(offer.Config{Conn: bus.Plain{Conn: conn}, Names: b.names, Logger: natstest.Logger(t), Linger: 200 * time.Millisecond})
	require.NoError(t, err)
	run(t, polls.Run)
	return polls
}

// run runs a process until the end of the test, or until it is stopped.
func run(t testing.TB, process func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, process(ctx)) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// match runs a matching that asks the history of the bench.
func (b *bench) match(t testing.TB, change ...func(*matching.Config)) (stop func()) {
	t.Helper()
	_, js := natstest.Connect(t, b.url)
	config := matching.Config{JS: js, Names: b.names, Starter: b.history, Logger: natstest.Logger(t), Patience: time.Second}
	for _, f := range change {
		f(&config)
	}
	m, err := matching.New(config)
	require.NoError(t, err)
	stop = run(t, m.Run)
	<-m.Ready()
	return stop
}

// store puts tasks into the backlog, as history does.
func (b *bench) store(t testing.TB, q offer.Queue, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		natstest.Eventually(t, natstest.Patience, "the task is stored", func() bool {
			return b.history.offers.Store(t.Context(), q, taskOf(q, i)) == nil
		})
	}
}

func taskOf(q offer.Queue, i int) offer.Task {
	return offer.Task{Namespace: q.Namespace, WorkflowID: fmt.Sprint("w", i), RunID: "r", Kind: q.Kind, EventID: int64(i + 1), Attempt: 1}
}

// backlog is how many tasks wait in a queue.
func (b *bench) backlog(t testing.TB, q offer.Queue) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	stream, err := b.js.Stream(ctx, b.names.BacklogStream())
	if err != nil {
		return -1
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(b.names.Backlog(q)))
	if err != nil {
		return -1
	}
	return int(info.State.Subjects[b.names.Backlog(q)])
}

// letters waits for a number of dead letters.
func (b *bench) letters(t testing.TB, n int) (found []deadletter.Letter) {
	t.Helper()
	natstest.Eventually(t, natstest.Patience, "there are dead letters", func() (there bool) {
		stream, err := b.js.Stream(t.Context(), b.names.DeadLetterStream())
		require.NoError(t, err)
		return stream.CachedInfo().State.Msgs == uint64(n)
	})
	for sequence := range n {
		letter, err := deadletter.NewReader(b.js, b.names).Get(t.Context(), deadletter.Number{Sequence: uint64(sequence + 1)})
		require.NoError(t, err)
		found = append(found, letter.Letter)
	}
	return found
}

func (b *bench) requireDrained(t testing.TB, q offer.Queue) {
	t.Helper()
	natstest.Eventually(t, natstest.Patience, "the backlog is empty", func() bool { return b.backlog(t, q) == 0 })
}

// poll takes the tasks of a queue, as a worker does, until stop is called. It counts them.
func (b *bench) poll(t testing.TB, polls *offer.Polls, q offer.Queue) (got *taken, stop func()) {
	t.Helper()
	got = &taken{of: map[string]int{}}
	stop = run(t, func(ctx context.Context) error {
		for ctx.Err() == nil {
			task, err := polls.Wait(ctx, q, offer.Poller{Identity: "worker"})
			switch {
			case errors.Is(err, offer.ErrStopped):
				return nil
			case err != nil:
				return err
			case task != nil:
				got.add(string(task))
			}
		}
		return nil
	})
	return got, stop
}

// taken counts the tasks that workers have taken.
type taken struct {
	mu sync.Mutex
	of map[string]int
}

func (g *taken) add(task string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[task]++
}

func (g *taken) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.of)
}

// history starts tasks: each once.
type history struct {
	offers *offer.Offerer

	mu      sync.Mutex
	started map[string]bool
	refuse  func(offer.Task) error
}

func newHistory(t testing.TB, url string, names subjects.Names) *history {
	t.Helper()
	conn, js := natstest.Connect(t, url)
	offers, err := offer.NewOfferer(offer.Config{Conn: bus.Plain{Conn: conn}, Names: names}, natstest.Bus(t, js), metrics.OfferedNew)
	require.NoError(t, err)
	t.Cleanup(offers.Close)
	return &history{offers: offers, started: map[string]bool{}, refuse: func(offer.Task) error { return nil }}
}

// Start implements matching.Starter.
func (h *history) Start(ctx context.Context, task offer.Task, to offer.Poller) error {
	name := fmt.Sprint(task.Kind, " ", task.WorkflowID)
	h.mu.Lock()
	err := h.refuse(task)
	if err == nil && h.started[name] {
		err = matching.ErrForget
	}
	if err == nil {
		h.started[name] = true
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	return h.offers.Hand(ctx, to, []byte(name))
}

func (h *history) refuses(refuse func(offer.Task) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse = refuse
}

func shared(t testing.TB) string { return natstest.Shared(t).ClientURL() }
