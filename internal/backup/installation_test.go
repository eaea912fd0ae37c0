package backup_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// installation is a Carillon on one server or cluster, with all roles and a worker.
type installation struct {
	testing.TB
	conn   *nats.Conn
	js     jetstream.JetStream
	names  subjects.Names
	facts  topology.Facts
	store  *kv.Store
	client *client.Client
	cancel context.CancelFunc
	done   chan error
}

// server is one server, or the URLs of a cluster.
type server interface{ string | *natsserver.Server }

// connectInstallation connects to the server of an installation. The installation need not exist yet.
func connectInstallation[T server](t testing.TB, to T, names subjects.Names) *installation {
	s := &installation{TB: t, names: names}
	s.conn, s.js = natstest.Connect(t, to)
	var err error
	s.client, err = client.New(s.conn, client.Config{Prefix: names.Prefix()})
	require.NoError(t, err)
	t.Cleanup(s.stop)
	return s
}

// start sets the installation up, if it is new, and runs it.
func (s *installation) start(settings topology.Settings, ledger *ledger) {
	s.Helper()
	s.open(settings)
	logger := natstest.Logger(s)
	front, err := frontend.New(frontend.Config{Conn: s.conn, JS: s.js, Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s, err)
	gen, err := generator.New(generator.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s, err)
	inv, err := invoker.New(invoker.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s, err)
	back, err := backfiller.New(pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s, err)
	work, err := worker.New(s.conn, worker.Config{TaskQueue: "q", Prefix: s.names.Prefix(), Logger: logger})
	require.NoError(s, err)
	work.Register("record", ledger.handle)

	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan error, 1)
	group, ctx := errgroup.WithContext(ctx)
	for _, role := range []interface{ Run(context.Context) error }{front, gen, inv, back, work} {
		group.Go(func() error { return role.Run(ctx) })
	}
	go func() { s.done <- group.Wait() }()
	select {
	case <-front.Ready():
	case err := <-s.done:
		s.cancel = nil
		s.Fatalf("a role failed at the start: %v", err)
	}
}

// open sets the installation up, if it is new.
func (s *installation) open(settings topology.Settings) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	var err error
	s.facts, err = topology.Ensure(ctx, s.js, s.names, settings)
	require.NoError(s, err)
	s.store, err = kv.Open(ctx, s.js, s.names, s.facts.Shards)
	require.NoError(s, err)
}

// stop ends the roles and waits for them.
func (s *installation) stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if err := <-s.done; err != nil && !errors.Is(err, context.Canceled) {
		s.Errorf("a role failed: %v", err)
	}
}

func (s *installation) create(id string, sched schedule.Schedule) {
	s.Helper()
	_, err := s.client.Create(s.Context(), schedule.CreateRequest{ID: id, Schedule: sched})
	require.NoError(s, err)
}

func (s *installation) describe(id string) schedule.Description {
	s.Helper()
	d, err := s.client.Describe(s.Context(), id)
	require.NoError(s, err)
	return d
}

// backup makes a backup in a folder of the test.
func (s *installation) backup() (string, *backup.Manifest) {
	s.Helper()
	dir := filepath.Join(s.TempDir(), "backup")
	m, err := backup.Create(s.Context(), backup.CreateConfig{JS: s.js, Names: s.names, Facts: s.facts, Version: "test"}, dir)
	require.NoError(s, err)
	return dir, m
}

func (s *installation) restore(dir string, config backup.RestoreConfig) backup.Summary {
	s.Helper()
	config.JS = s.js
	summary, err := backup.Restore(s.Context(), config, dir)
	require.NoError(s, err)
	s.Logf("restored: %+v", summary.Counts)
	return summary
}

// every is a schedule that records on the queue of the installation.
func every(d time.Duration, overlap schedule.OverlapPolicy) schedule.Schedule {
	return schedule.Schedule{
		Spec:     schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(d)}}},
		Action:   schedule.Action{Type: "record", TaskQueue: "q"},
		Policies: schedule.Policies{Overlap: overlap},
	}
}

// ran is one call of the handler.
type ran struct {
	requestID, scheduleID string
	began, ended          time.Time
}

// ledger records what the worker's code has done.
type ledger struct {
	mu   sync.Mutex
	runs []ran
	// work is what a run does; nothing by default.
	work func(ctx context.Context, run *worker.Run) error
}

func (l *ledger) handle(ctx context.Context, run *worker.Run) (any, error) {
	began := time.Now()
	if l.work != nil {
		if err := l.work(ctx, run); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, ran{run.RequestID, run.ScheduleID, began, time.Now()})
	return nil, nil
}

// all returns what has run until now.
func (l *ledger) all() []ran {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]ran{}, l.runs...)
}

// of counts the runs of a schedule.
func (l *ledger) of(id string) int {
	count := 0
	for _, r := range l.all() {
		if r.scheduleID == id {
			count++
		}
	}
	return count
}
