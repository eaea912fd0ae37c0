package taskqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const patience = natstest.Patience

// queues has the streams for runs and events, and a clock.
type queues struct {
	t     *testing.T
	js    jetstream.JetStream
	names subjects.Names

	mu    sync.Mutex
	ahead time.Duration
}

func newQueues(t *testing.T) *queues {
	t.Helper()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	for _, config := range names.StreamConfigs(0, 1) {
		_, err := js.CreateStream(t.Context(), config)
		require.NoError(t, err)
	}
	return &queues{t: t, js: js, names: names}
}

func (q *queues) now() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Now().Add(q.ahead)
}

func (q *queues) pass(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ahead += d
}

// start puts a run of a schedule into a queue.
func (q *queues) start(queue, id, workflowID string) {
	q.t.Helper()
	body, err := json.Marshal(schedule.ActionRequest{
		Namespace: "default", ScheduleID: id, WorkflowID: workflowID, RunID: "run of " + workflowID, TaskQueue: queue,
	})
	require.NoError(q.t, err)
	_, err = q.js.Publish(q.t.Context(), q.names.Action("default", queue, workflowID), body)
	require.NoError(q.t, err)
}

// consumer returns the consumer that the workers of a queue pull from.
func (q *queues) consumer(queue string) jetstream.Consumer {
	q.t.Helper()
	consumer, err := q.js.CreateOrUpdateConsumer(q.t.Context(), q.names.ActionStream(), q.names.WorkerConsumer("default", queue))
	require.NoError(q.t, err)
	return consumer
}

// take takes a run from a queue as a worker does.
func (q *queues) take(queue string) jetstream.Msg {
	q.t.Helper()
	msg, err := q.consumer(queue).Next()
	require.NoError(q.t, err)
	return msg
}

// wait asks for runs until the end of the test or until stop is called.
func (q *queues) wait(queue string) (stop func()) {
	messages, err := q.consumer(queue).Messages()
	require.NoError(q.t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = messages.Next()
	}()
	stop = sync.OnceFunc(func() {
		messages.Stop()
		<-ended
	})
	q.t.Cleanup(stop)
	natstest.Eventually(q.t, patience, "the worker asks", func() bool { return q.look(queue).Pulling })
	return stop
}

func (q *queues) look(queue string) taskqueue.Status {
	q.t.Helper()
	status, err := taskqueue.Look(q.t.Context(), q.js, q.names, "default", queue)
	require.NoError(q.t, err)
	return status
}

func (q *queues) watcher() *taskqueue.Watcher {
	q.t.Helper()
	w, err := taskqueue.New(taskqueue.Config{JS: q.js, Names: q.names, Logger: natstest.Logger(q.t), Now: q.now})
	require.NoError(q.t, err)
	q.t.Cleanup(func() { // gives up the runs it has
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		assert.NoError(q.t, w.Run(ended))
	})
	return w
}

func (q *queues) round(w *taskqueue.Watcher) {
	q.t.Helper()
	require.NoError(q.t, taskqueue.Round(w, q.t.Context()))
}

// watch lets time pass, in which the watcher looks every 15 seconds.
func (q *queues) watch(w *taskqueue.Watcher, d time.Duration) {
	q.t.Helper()
	q.round(w)
	for range d / (15 * time.Second) {
		q.pass(15 * time.Second)
		q.round(w)
	}
}

// told returns the run of each event, in order.
func (q *queues) told() []string {
	q.t.Helper()
	page, err := events.NewReader(q.js, q.names).Page(q.t.Context(), events.Query{}, 0, 100)
	require.NoError(q.t, err)
	runs := []string{}
	for _, e := range page.Entries {
		require.Equal(q.t, schedule.EventNoWorker, e.Kind)
		runs = append(runs, e.ScheduleID+" "+e.RunID)
	}
	return runs
}

func TestLook(t *testing.T) {
	t.Parallel()
	q := newQueues(t)
	assert.Equal(t, taskqueue.Status{}, q.look("a.b"), "an empty queue")
	q.start("other", "x", "w0")
	q.start("a.b", "nightly", "w1")
	q.start("a.b", "hourly", "w2")
	status := q.look("a.b")
	assert.False(t, status.Worker())
	assert.Equal(t, 2, status.Waiting)
	require.NotNil(t, status.Oldest)
	assert.Equal(t, "run of w1", status.Oldest.RunID)
	assert.Equal(t, schedule.Key{Namespace: "default", ID: "nightly"}, status.Oldest.Key)
	assert.Equal(t, uint64(2), status.Oldest.Sequence)
	assert.WithinDuration(t, time.Now(), status.Oldest.Since, patience)

	msg := q.take("a.b")
	status = q.look("a.b")
	assert.True(t, status.Worker(), "it has a run")
	assert.False(t, status.Pulling)
	assert.Equal(t, 1, status.Held)
	assert.Equal(t, 1, status.Waiting)
	assert.Equal(t, "run of w2", status.Oldest.RunID)
	assert.WithinDuration(t, time.Now(), status.LastHandOut, patience)

	require.NoError(t, msg.DoubleAck(t.Context()))
	require.NoError(t, q.take("a.b").DoubleAck(t.Context()))
	stop := q.wait("a.b")
	status = q.look("a.b")
	assert.True(t, status.Worker())
	assert.Nil(t, status.Oldest)
	assert.Zero(t, status.Waiting)
	stop()
	natstest.Eventually(t, patience, "the worker is gone", func() bool { s := q.look("a.b"); return !s.Worker() })
}

func TestLookWithoutStream(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	_, err := taskqueue.Look(t.Context(), js, natstest.Names(t), "default", "q")
	assert.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}

func TestWatcherTellsOnceThatNobodyServes(t *testing.T) {
	t.Parallel()
	q := newQueues(t)
	q.start("a.b", "nightly", "w1")
	q.start("a.b", "hourly", "w2")
	q.start("c", "daily", "w3")
	q.wait("d")
	first := q.watcher()
	q.watch(first, 45*time.Second)
	assert.Empty(t, q.told())
	q.watch(first, 15*time.Second)
	assert.Equal(t, []string{"nightly run of w1", "daily run of w3"}, q.told())
	q.watch(first, time.Hour)
	q.watch(q.watcher(), time.Hour)
	assert.Len(t, q.told(), 2, "the same again, from another process as well")

	// A worker came and went: now another run waits longest.
	require.NoError(t, q.take("a.b").DoubleAck(t.Context()))
	stop := q.wait("a.b")
	q.round(first)
	stop()
	natstest.Eventually(t, patience, "the worker is gone", func() bool { return !q.look("a.b").Pulling })
}

func TestWatchersAtTheSameTimeTellOnce(t *testing.T) {
	t.Parallel()
	q := newQueues(t)
	for i := range 5 {
		q.start(fmt.Sprint("q", i), "nightly", fmt.Sprint("w", i))
	}
	var watchers []*taskqueue.Watcher
	for range 4 {
		w := q.watcher()
		q.round(w)
		watchers = append(watchers, w)
	}
	q.pass(time.Minute)
	var looking sync.WaitGroup
	for _, w := range watchers {
		looking.Go(func() { assert.NoError(t, taskqueue.Round(w, t.Context())) })
	}
	looking.Wait()
	assert.Len(t, q.told(), 5)
}

// TestWatcherTellsDeadFromBusy has one worker that takes a run and then shows no sign of life, and one that does.
func TestWatcherTellsDeadFromBusy(t *testing.T) {
	t.Parallel()
	q := newQueues(t)
	q.start("dead", "nightly", "w1")
	q.start("busy", "hourly", "w2")
	q.start("busy", "hourly", "w3")
	q.take("dead")
	msg := q.take("busy")
	w := q.watcher()
	q.round(w)
	for range 8 {
		require.NoError(t, msg.InProgress())
		require.NoError(t, q.js.Conn().Flush())
		q.pass(15 * time.Second)
		natstest.Eventually(t, patience, "the sign is heard", func() bool {
			// A round that has heard nothing yet goes on listening; the clock stands still.
			return assert.NoError(t, taskqueue.Round(w, t.Context())) && q.look("busy").Held == 1
		})
	}
	assert.Equal(t, []string{"nightly run of w1"}, q.told())
}

func TestWatcherRuns(t *testing.T) {
	t.Parallel()
	q := newQueues(t)
	q.start("a", "nightly", "w1")
	w, err := taskqueue.New(taskqueue.Config{
		JS: q.js, Names: q.names, Logger: natstest.Logger(t), Period: 10 * time.Millisecond, Threshold: time.Nanosecond,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	natstest.Eventually(t, patience, "the event is there", func() bool { return len(q.told()) == 1 })
	cancel()
	assert.NoError(t, <-ended)
	_, err = taskqueue.New(taskqueue.Config{})
	assert.Error(t, err)
}
