package systemtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

func TestMain(m *testing.M) {
	if addresses, ok := os.LookupEnv(tripWorkerEnv); ok {
		runTripWorker(addresses)
	}
	// A mirror whose origin has just been shut down asks it once more, and waits half a minute for an answer, even if its own server is shut down.
	asking := goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3")
	natstest.Main(m, asking, goleak.Cleanup(func(code int) {
		if binaryDir != "" {
			_ = os.RemoveAll(binaryDir)
		}
		os.Exit(code)
	}))
}

// patience is how long a test waits for something that takes seconds, on a busy machine.
const patience = natstest.Patience

// system is one installation with every role except the worker, in this process.
type system struct {
	t      testing.TB
	names  subjects.Names
	conn   *nats.Conn
	js     jetstream.JetStream
	store  *kv.Store
	client *client.Client
	cancel context.CancelFunc
	done   chan error
}

// newSystem sets up and runs an installation on a server.
func newSystem(t testing.TB, conn *nats.Conn, js jetstream.JetStream, settings topology.Settings) *system {
	t.Helper()
	return newSystemOf(t, natstest.Names(t), conn, js, settings)
}

// newSystemOf sets up and runs an installation with given names.
func newSystemOf(
	t testing.TB, names subjects.Names, conn *nats.Conn, js jetstream.JetStream, settings topology.Settings,
) *system {
	t.Helper()
	s := &system{t: t, names: names, conn: conn, js: js}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	facts, err := topology.Ensure(ctx, js, s.names, settings)
	require.NoError(t, err)
	s.store, err = kv.Open(ctx, js, s.names, facts.Shards)
	require.NoError(t, err)
	s.client, err = client.New(conn, client.Config{Prefix: s.names.Prefix()})
	require.NoError(t, err)
	s.start()
	t.Cleanup(s.stop)
	return s
}

// start runs frontend, generator, invoker and backfiller.
func (s *system) start() {
	s.t.Helper()
	logger := natstest.Logger(s.t)
	front, err := frontend.New(frontend.Config{Conn: s.conn, JS: s.js, Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s.t, err)
	gen, err := generator.New(generator.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s.t, err)
	inv, err := invoker.New(invoker.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s.t, err)
	back, err := backfiller.New(pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s.t, err)

	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan error, 1)
	group, ctx := errgroup.WithContext(ctx)
	for _, role := range []interface{ Run(context.Context) error }{front, gen, inv, back} {
		group.Go(func() error { return role.Run(ctx) })
	}
	go func() { s.done <- group.Wait() }()
	select {
	case <-front.Ready():
	case err := <-s.done:
		s.cancel = nil
		s.t.Fatalf("a role failed at the start: %v", err)
	}
}

// stop ends the roles in order and waits for them.
func (s *system) stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if err := <-s.done; err != nil && !errors.Is(err, context.Canceled) {
		s.t.Errorf("a role failed: %v", err)
	}
}

// ran is one execution of a handler.
type ran struct {
	RequestID   string
	ScheduleID  string
	Nominal     time.Time
	At          time.Time
	Attempt     int
	LastSuccess string
}

// ledger records what ran.
type ledger struct {
	mu   sync.Mutex
	runs []ran
}

func (l *ledger) add(run *worker.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, ran{
		RequestID: run.RequestID, ScheduleID: run.ScheduleID, Nominal: run.NominalTime, At: time.Now(),
		Attempt: run.Attempt, LastSuccess: string(run.LastSuccess),
	})
}

// of returns what ran for a schedule, by nominal time.
func (l *ledger) of(scheduleID string) []ran {
	l.mu.Lock()
	defer l.mu.Unlock()
	var runs []ran
	for _, r := range l.runs {
		if r.ScheduleID == scheduleID {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b ran) int { return a.Nominal.Compare(b.Nominal) })
	return runs
}

// work runs a worker on its own connection until the test ends; handle may be nil.
func (s *system) work(conn *nats.Conn, queue string, handle worker.Handler) *ledger {
	s.t.Helper()
	l := &ledger{}
	w, err := worker.New(conn, worker.Config{TaskQueue: queue, Prefix: s.names.Prefix(), Logger: natstest.Logger(s.t)})
	require.NoError(s.t, err)
	w.Register("record", func(ctx context.Context, run *worker.Run) (any, error) {
		l.add(run)
		if handle == nil {
			return nil, nil
		}
		return handle(ctx, run)
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("worker: %v", err)
		}
	})
	return l
}

// every is a schedule that records on the queue "q" at an interval.
func every(d time.Duration) schedule.Schedule {
	return schedule.Schedule{
		Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(d)}}},
		Action: schedule.Action{Type: "record", TaskQueue: "q"},
	}
}

func (s *system) create(id string, sched schedule.Schedule) schedule.Description {
	s.t.Helper()
	d, err := s.client.Create(s.t.Context(), schedule.CreateRequest{ID: id, Schedule: sched})
	require.NoError(s.t, err)
	return d
}

func (s *system) describe(id string) schedule.Description {
	s.t.Helper()
	d, err := s.client.Describe(s.t.Context(), id)
	require.NoError(s.t, err)
	return d
}

// exactlyOnce compares runs with the whole multiples of period in (from, to]: each exists once and there is no other.
func exactlyOnce(runs []ran, period time.Duration, from, to time.Time) error {
	counts := map[int64]int{}
	for _, r := range runs {
		counts[r.Nominal.UnixNano()]++
	}
	var problems []string
	for t := from.Truncate(period).Add(period); !t.After(to); t = t.Add(period) {
		if n := counts[t.UnixNano()]; n != 1 {
			problems = append(problems, fmt.Sprintf("%s ran %d times", t.Format(time.RFC3339), n))
		}
		delete(counts, t.UnixNano())
	}
	for nano, n := range counts {
		t := time.Unix(0, nano)
		if n != 1 || !t.After(from) || !t.Truncate(period).Equal(t) {
			problems = append(problems, fmt.Sprintf("%s ran %d times and is not due", t.UTC().Format(time.RFC3339Nano), n))
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
