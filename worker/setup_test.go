package worker_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

const (
	queue     = "reports & more"
	namespace = "default"
	// limit is how long a test waits for what must happen. It is met in milliseconds unless something is broken.
	limit = natstest.Patience
)

var key = schedule.Key{Namespace: namespace, ID: "nightly"}

// bench stands in for the invoker: it sends start requests and receives completions.
type bench struct {
	t           testing.TB
	connect     func(testing.TB) (*nats.Conn, jetstream.JetStream)
	nc          *nats.Conn
	js          jetstream.JetStream
	names       subjects.Names
	completions jetstream.Consumer
}

func setup(t testing.TB) *bench {
	t.Helper()
	return setupOn(t, natstest.Shared(t))
}

func setupOn[T string | *natsserver.Server](t testing.TB, to T) *bench {
	t.Helper()
	b := &bench{t: t, names: natstest.Names(t)}
	b.connect = func(t testing.TB) (*nats.Conn, jetstream.JetStream) { return natstest.Connect(t, to) }
	b.nc, b.js = b.connect(t)
	_, err := topology.Ensure(t.Context(), b.js, b.names, topology.Settings{Shards: 1, Replicas: 1})
	require.NoError(t, err)
	b.completions, err = b.js.Consumer(t.Context(), b.names.CallbackStream(0), subjects.PoolInvoker)
	require.NoError(t, err)
	return b
}

// ackWait makes the queue's consumer in advance, with another acknowledgement wait.
func (b *bench) ackWait(d time.Duration) {
	b.t.Helper()
	config := b.names.WorkerConsumer(namespace, queue)
	config.AckWait = d
	_, err := b.js.CreateConsumer(b.t.Context(), b.names.ActionStream(), config)
	require.NoError(b.t, err)
}

// service is a worker that runs.
type service struct {
	*worker.Worker
	t      testing.TB
	nc     *nats.Conn
	cancel context.CancelFunc
	done   chan error
	ended  bool
}

// worker makes a worker on a connection of its own.
func (b *bench) worker(config worker.Config) *service {
	b.t.Helper()
	nc, _ := b.connect(b.t)
	config.Namespace, config.TaskQueue, config.Prefix = namespace, queue, b.names.Prefix()
	if config.Logger == nil {
		config.Logger = natstest.Logger(b.t)
	}
	w, err := worker.New(nc, config)
	require.NoError(b.t, err)
	return &service{Worker: w, t: b.t, nc: nc, done: make(chan error, 1)}
}

// serve makes a worker with one handler and starts it.
func (b *bench) serve(actionType string, handler worker.Handler) *service {
	b.t.Helper()
	s := b.worker(worker.Config{})
	s.Register(actionType, handler)
	return s.start()
}

func (s *service) start() *service {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel = cancel
	go func() { s.done <- s.Run(ctx) }()
	s.t.Cleanup(func() {
		if !s.ended {
			s.cancel()
			<-s.done
		}
	})
	return s
}

// wait returns what Run returned.
func (s *service) wait() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.ended = true
		return err
	case <-time.After(limit):
		s.t.Fatal("the worker does not stop")
		return nil
	}
}

func (s *service) stop() error {
	s.t.Helper()
	s.cancel()
	return s.wait()
}

// request returns a start request of a run called by its number.
func (b *bench) request(id, actionType string, changes ...func(*schedule.ActionRequest)) schedule.ActionRequest {
	req := schedule.ActionRequest{
		Namespace: namespace, ScheduleID: key.ID, WorkflowID: "wf-" + id, RunID: "run-" + id, RequestID: "req-" + id,
		Type: actionType, TaskQueue: queue, Callback: b.names.Callback(0, key, queue, "req-"+id),
		NominalTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		DueTime:     time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC),
	}
	for _, change := range changes {
		change(&req)
	}
	return req
}

func input(data string) func(*schedule.ActionRequest) {
	return func(r *schedule.ActionRequest) { r.Input = json.RawMessage(data) }
}

// retries allows a number of attempts, a few milliseconds apart.
func retries(attempts int) func(*schedule.ActionRequest) {
	return func(r *schedule.ActionRequest) {
		r.RetryPolicy = &schedule.RetryPolicy{MaximumAttempts: attempts, InitialInterval: schedule.Duration(5 * time.Millisecond)}
	}
}

// submit sends a start request as the invoker does.
func (b *bench) submit(req schedule.ActionRequest) {
	b.t.Helper()
	data, err := json.Marshal(req)
	require.NoError(b.t, err)
	msg := nats.NewMsg(b.names.Action(req.Namespace, req.TaskQueue, req.WorkflowID))
	msg.Data = data
	msg.Header.Set("Content-Type", "application/json")
	msg.Header.Set("traceparent", traceparent)
	_, err = b.js.PublishMsg(b.t.Context(), msg)
	require.NoError(b.t, err)
}

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// completion waits for the next completion and takes it.
func (b *bench) completion() schedule.Completion {
	b.t.Helper()
	completion, _ := b.completionAndHeader()
	return completion
}

func (b *bench) completionAndHeader() (schedule.Completion, nats.Header) {
	b.t.Helper()
	msg, err := b.completions.Next(jetstream.FetchMaxWait(limit))
	require.NoError(b.t, err, "no completion")
	require.NoError(b.t, msg.DoubleAck(b.t.Context()))
	var completion schedule.Completion
	require.NoError(b.t, json.Unmarshal(msg.Data(), &completion))
	return completion, msg.Headers()
}

// noCompletion checks that none is waiting. It means something once the queue is empty.
func (b *bench) noCompletion() {
	b.t.Helper()
	info, err := b.completions.Info(b.t.Context())
	require.NoError(b.t, err)
	require.Zero(b.t, info.NumPending+uint64(info.NumAckPending), "a completion")
}

// queueEmpty waits until all requests are acknowledged.
func (b *bench) queueEmpty() {
	b.t.Helper()
	natstest.Eventually(b.t, limit, "the queue is empty", func() bool {
		stream, err := b.js.Stream(b.t.Context(), b.names.ActionStream())
		return err == nil && stream.CachedInfo().State.Msgs == 0
	})
}

func (b *bench) control(kind schedule.ControlKind, req schedule.ActionRequest) {
	b.t.Helper()
	data, err := json.Marshal(schedule.Control{
		Kind: kind, RequestID: req.RequestID, RunID: req.RunID, WorkflowID: req.WorkflowID,
	})
	require.NoError(b.t, err)
	_, err = b.js.Publish(b.t.Context(), b.names.Control(namespace, queue, req.WorkflowID), data)
	require.NoError(b.t, err)
}

// receive waits for a value on a channel.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(limit):
		t.Fatalf("still waiting for %s", what)
		panic("unreachable")
	}
}
