package consistency_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// patience is how long a test waits for what must happen.
const patience = natstest.Patience

// installation is a Carillon with every role except the worker.
type installation struct {
	*testing.T
	conn    *nats.Conn
	js      jetstream.JetStream
	pause   time.Duration // between two looks
	names   subjects.Names
	store   *kv.Store
	api     *client.Client
	checker *consistency.Checker

	mu   sync.Mutex
	runs map[string]map[time.Time]int // how often each nominal time of each schedule has run
}

// newInstallation makes an installation for damage that only a check touches, so that a moment is enough to confirm a finding.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	return newInstallationOn(t, conn, js, 1, 100*time.Millisecond)
}

func newInstallationOn(t *testing.T, conn *nats.Conn, js jetstream.JetStream, replicas int, pause time.Duration) *installation {
	t.Helper()
	s := &installation{T: t, conn: conn, js: js, pause: pause, names: natstest.Names(t), runs: map[string]map[time.Time]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := topology.Ensure(ctx, js, s.names, topology.Settings{Shards: 2, Replicas: replicas})
	require.NoError(t, err)
	s.store, err = kv.Open(t.Context(), js, s.names, 2)
	require.NoError(t, err)
	s.api, err = client.New(conn, client.Config{Prefix: s.names.Prefix()})
	require.NoError(t, err)
	s.checker, err = consistency.New(t.Context(), s.config())
	require.NoError(t, err)
	t.Cleanup(s.checker.Close)
	s.startRoles()
	return s
}

func (s *installation) config() consistency.Config {
	return consistency.Config{
		JS: s.js, Names: s.names, Shards: 2, Pause: s.pause, Logger: natstest.Logger(s), Identity: "test",
	}
}

// later makes the checker believe that it is later than it is.
func (s *installation) later(by time.Duration) {
	s.Helper()
	config := s.config()
	config.Now = func() time.Time { return time.Now().Add(by) }
	checker, err := consistency.New(s.Context(), config)
	require.NoError(s, err)
	s.Cleanup(checker.Close)
	s.checker = checker
}

func (s *installation) startRoles() {
	s.Helper()
	logger := natstest.Logger(s)
	front, err := frontend.New(frontend.Config{Conn: s.conn, JS: s.js, Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s, err)
	gen, err := generator.New(generator.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s, err)
	inv, err := invoker.New(invoker.Config{
		Config:    pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger},
		Workflows: workflows.NewClient(owners.Anybody(s.conn), s.names, 2),
	})
	require.NoError(s, err)
	back, err := backfiller.New(pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s, err)
	s.background(front.Run, gen.Run, inv.Run, back.Run)
	select {
	case <-front.Ready():
	case <-time.After(patience):
		require.Fail(s, "the frontend is not ready")
	}
}

// background runs functions until the end of the test.
func (s *installation) background(runs ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range runs {
		group.Go(func() error { return run(ctx) })
	}
	s.Cleanup(func() {
		cancel()
		assert.NoError(s, group.Wait())
	})
}

// work runs a worker on the queue "q" that records what it runs.
func (s *installation) work() {
	s.Helper()
	w, err := worker.New(s.conn, worker.Config{TaskQueue: "q", Prefix: s.names.Prefix(), Logger: natstest.Logger(s)})
	require.NoError(s, err)
	w.Register("record", func(_ context.Context, run *worker.Run) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.runs[run.ScheduleID] == nil {
			s.runs[run.ScheduleID] = map[time.Time]int{}
		}
		s.runs[run.ScheduleID][run.NominalTime]++
		return "done", nil
	})
	s.background(w.Run)
}

// ran returns how many runs a schedule has had. Each has run once.
func (s *installation) ran(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nominal, times := range s.runs[id] {
		require.Equal(s, 1, times, "%s of %s", nominal, id)
	}
	return len(s.runs[id])
}

// leftOutNothing checks that every action from the first to the last has run.
func (s *installation) leftOutNothing(id string, period time.Duration) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var first, last time.Time
	for nominal := range s.runs[id] {
		if first.IsZero() || nominal.Before(first) {
			first = nominal
		}
		if nominal.After(last) {
			last = nominal
		}
	}
	assert.Len(s, s.runs[id], int(last.Sub(first)/period)+1, "%s: actions from the first to the last", id)
}

func (s *installation) eventually(what string, holds func() bool) {
	s.Helper()
	natstest.Eventually(s, patience, what, holds)
}

// create makes a schedule that records on the queue "q".
func (s *installation) create(id string, every time.Duration, change ...func(*schedule.CreateRequest)) schedule.Key {
	s.Helper()
	request := schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(every)}}},
		Action: schedule.Action{Type: "record", TaskQueue: "q"},
		// What was due while nothing woke the schedule is due at once.
		Policies: schedule.Policies{Overlap: schedule.OverlapBufferAll},
	}}
	for _, c := range change {
		c(&request)
	}
	_, err := s.api.Create(s.Context(), request)
	require.NoError(s, err)
	key := schedule.Key{Namespace: "default", ID: id}
	s.eventually("the generator has seen it", func() bool {
		_, err := kv.GetLeader(s.Context(), s.store, kv.Generator(key))
		return err == nil
	})
	return key
}

func (s *installation) trigger(id string) {
	s.Helper()
	_, err := s.api.Trigger(s.Context(), schedule.TriggerRequest{ID: id})
	require.NoError(s, err)
}

// completes waits until a run has completed.
func (s *installation) completes(id string, start wire.BufferedStart) {
	s.Helper()
	s.eventually("it has completed", func() bool {
		run, err := s.api.Run(s.Context(), id, start.RunID)
		return err == nil && run.Run.Status == schedule.StatusCompleted
	})
}

// failsAsLost waits until a run has failed, and checks why.
func (s *installation) failsAsLost(id string, start wire.BufferedStart) {
	s.Helper()
	var run schedule.RunReply
	s.eventually("the run has failed", func() bool {
		var err error
		run, err = s.api.Run(s.Context(), id, start.RunID)
		require.NoError(s, err)
		return run.Run.Status == schedule.StatusFailed
	})
	require.Equal(s, schedule.FailureLost, run.Run.Failure.Type)
}

func (s *installation) describe(id string) schedule.Description {
	s.Helper()
	d, err := s.api.Describe(s.Context(), id)
	require.NoError(s, err)
	return d
}

func (s *installation) shard(key schedule.Key) int { return s.store.ShardOf(key) }

// there reports whether a stream has messages on a subject.
func (s *installation) there(stream, subject string) bool {
	s.Helper()
	info, err := s.js.Stream(s.Context(), stream)
	require.NoError(s, err)
	state, err := info.Info(s.Context(), jetstream.WithSubjectFilter(subject))
	require.NoError(s, err)
	return len(state.State.Subjects) > 0
}

// purge removes the messages of a subject.
func (s *installation) purge(stream, subject string) {
	s.Helper()
	handle, err := s.js.Stream(s.Context(), stream)
	require.NoError(s, err)
	require.NoError(s, handle.Purge(s.Context(), jetstream.WithPurgeSubject(subject)))
}

// silence removes the due timer of a schedule as soon as it is there, so that nothing wakes the generator.
func (s *installation) silence(key schedule.Key) {
	s.Helper()
	stream, shard := s.names.TaskStream(s.shard(key)), s.shard(key)
	timer, tasks := s.names.DueTimer(shard, key), s.names.Generate(shard, key, "*")
	guard := s.names.GuardTimer(shard, key, 1)
	s.eventually("its timer is removed", func() bool {
		if !s.there(stream, timer) || s.there(stream, tasks) || s.there(stream, guard) {
			return false
		}
		s.purge(stream, timer)
		return !s.there(stream, timer) && !s.there(stream, tasks)
	})
}

// wake wakes the generator.
func (s *installation) wake(key schedule.Key) {
	s.Helper()
	body, err := codec.Marshal(&wire.Wake{Reason: wire.ReasonRetry})
	require.NoError(s, err)
	_, err = s.js.Publish(s.Context(), s.names.Generate(s.shard(key), key, subjects.WhatGuard), body)
	require.NoError(s, err)
}

// finds checks for inconsistencies, and mends them if asked to.
func (s *installation) finds(repair bool) []consistency.Finding {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	report, err := s.checker.Check(ctx, "", repair)
	require.NoError(s, err)
	for _, f := range report.Findings {
		s.Logf("%s %s %s: %s; repair: %s; repaired %t %s", f.ScheduleID, f.Kind, f.About, f.What, f.Repair, f.Repaired, f.Problem)
		assert.NotEmpty(s, f.What)
		assert.NotEmpty(s, f.Repair)
	}
	return report.Findings
}

// mends checks that a check finds exactly the expected kinds, once the pools have finished their work, and that all findings can
// be mended.
func (s *installation) mends(kinds ...consistency.Kind) {
	s.Helper()
	s.eventually("just that is found", func() bool {
		found := kindsOf(s.finds(false))
		slices.Sort(found)
		return slices.Equal(slices.Sorted(slices.Values(kinds)), found)
	})
	found := s.finds(true)
	require.ElementsMatch(s, kinds, kindsOf(found))
	for _, f := range found {
		require.True(s, f.Repaired, "%s: %s", f.Kind, f.Problem)
	}
	s.eventually("nothing is wrong", func() bool { return len(s.finds(false)) == 0 })
}

func kindsOf(findings []consistency.Finding) []consistency.Kind {
	kinds := []consistency.Kind{}
	for _, f := range findings {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// put overwrites a record.
func put[T any](s *installation, key kv.Key[T], change func(*T)) {
	s.Helper()
	record, err := kv.OrZero(kv.GetLeader(s.Context(), s.store, key))
	require.NoError(s, err)
	change(&record.Value)
	_, err = kv.Put(s.Context(), s.store, key, &record.Value, record.Revision)
	require.NoError(s, err)
}

// remove removes a record.
func remove[T any](s *installation, key kv.Key[T]) {
	s.Helper()
	record, err := kv.GetLeader(s.Context(), s.store, key)
	require.NoError(s, err)
	require.NoError(s, kv.Delete(s.Context(), s.store, key, record.Revision))
}

// isGone reports whether there is no such record.
func isGone[T any](s *installation, key kv.Key[T]) bool {
	_, err := kv.GetLeader(s.Context(), s.store, key)
	return errors.Is(err, kv.ErrNotFound)
}

// truncate cuts a record in half.
func truncate[T any](s *installation, key schedule.Key, record kv.Key[T]) {
	s.Helper()
	bucket, err := s.js.KeyValue(s.Context(), s.names.StateBucket(s.shard(key)))
	require.NoError(s, err)
	entry, err := bucket.Get(s.Context(), record.String())
	require.NoError(s, err)
	_, err = bucket.Put(s.Context(), record.String(), entry.Value()[:len(entry.Value())/2])
	require.NoError(s, err)
}
