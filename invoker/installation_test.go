package invoker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// patience is how long a test waits for what must happen.
const patience = natstest.Patience

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// installation is a Carillon in which the test plays every role but the invoker.
type installation struct {
	t     *testing.T
	names subjects.Names
	js    jetstream.JetStream
	store *kv.Store
	key   schedule.Key
	queue jetstream.Consumer
	// began is the base of the times of starts: a moment ago, in whole seconds.
	began  time.Time
	handed time.Time
}

func newInstallation(t *testing.T, changes ...func(*wire.Definition)) *installation {
	t.Helper()
	s := &installation{t: t, names: natstest.Names(t), began: time.Now().Truncate(time.Second).Add(-time.Hour)}
	_, s.js = natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), s.js, s.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	s.store, err = kv.Open(t.Context(), s.js, s.names, facts.Shards)
	require.NoError(t, err)
	s.queue, err = s.js.CreateConsumer(t.Context(), s.names.ActionStream(), s.names.WorkerConsumer("default", "q"))
	require.NoError(t, err)
	s.handed = s.began
	s.key = s.define("nightly", changes...)
	return s
}

// define stores a schedule.
func (s *installation) define(id string, changes ...func(*wire.Definition)) schedule.Key {
	s.t.Helper()
	d := wire.Definition{
		Namespace: "default", ID: id, Incarnation: "inc-" + id, Version: 1, LimitVersion: 1, CreateTime: s.began,
		Schedule: schedule.Schedule{Action: schedule.Action{
			Type: "record", TaskQueue: "q", Input: json.RawMessage(`{"a":1}`), Headers: map[string]string{"h": "v"},
		}},
	}
	for _, change := range changes {
		change(&d)
	}
	_, err := kv.Put(s.t.Context(), s.store, kv.Definition(d.Key()), &d, 0)
	require.NoError(s.t, err)
	return d.Key()
}

func keepOriginal(d *wire.Definition) { d.Schedule.Policies.KeepOriginalWorkflowID = true }

func runTimeout(d time.Duration) func(*wire.Definition) {
	return func(def *wire.Definition) { def.Schedule.Action.RunTimeout = schedule.Duration(d) }
}

func (s *installation) newPool(changes ...func(*invoker.Config)) *invoker.Pool {
	s.t.Helper()
	_, js := natstest.Connect(s.t, natstest.Shared(s.t))
	config := invoker.Config{Config: pool.Config{Bus: bus.New(js), Store: s.store, Names: s.names, Logger: natstest.Logger(s.t)}}
	for _, change := range changes {
		change(&config)
	}
	invokers, err := invoker.New(config)
	require.NoError(s.t, err)
	return invokers
}

// run runs a invokers, or a loop around one, until the end of the test or until stop is called.
func (s *installation) run(role interface{ Run(context.Context) error }) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- role.Run(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if !stopped {
			stopped = true
			require.NoError(s.t, <-ended)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

func running(t *testing.T, changes ...func(*wire.Definition)) *installation {
	t.Helper()
	s := newInstallation(t, changes...)
	s.run(s.newPool())
	return s
}

// at is the n-th second of the starts of the test.
func (s *installation) at(n int) time.Time { return s.began.Add(time.Duration(n) * time.Second) }

// start is the start of that second, as the generator makes it.
func (s *installation) start(n int) wire.BufferedStart {
	return wire.NewStart(s.definition(), schedule.SourceAuto, s.at(n), s.at(n))
}

func (s *installation) definition() *wire.Definition {
	s.t.Helper()
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Definition(s.key))
	require.NoError(s.t, err)
	return &record.Value
}

// handOff is the next one of the chain, up to the last of the seconds.
func (s *installation) handOff(overlap schedule.OverlapPolicy, seconds ...int) wire.Enqueue {
	d := s.definition()
	e := wire.Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: schedule.SourceAuto,
		Span: wire.Span{From: s.handed, To: s.at(seconds[len(seconds)-1])},
	}
	for _, n := range seconds {
		start := wire.NewStart(d, schedule.SourceAuto, s.at(n), s.at(n))
		start.Overlap = overlap
		e.Starts = append(e.Starts, start)
	}
	s.handed = e.To
	return e
}

func (s *installation) deliver(e wire.Enqueue) {
	s.t.Helper()
	body, err := codec.Marshal(&e)
	require.NoError(s.t, err)
	s.publish(s.names.InvokeEnqueue(0, s.key, e.Source, e.Span), body)
}

func (s *installation) due(seconds ...int) { s.t.Helper(); s.deliver(s.handOff("", seconds...)) }

func (s *installation) wake() {
	s.t.Helper()
	body, err := codec.Marshal(&wire.Wake{Reason: wire.ReasonRetry})
	require.NoError(s.t, err)
	s.publish(s.names.InvokeWake(0, s.key), body)
}

func (s *installation) publish(subject string, body []byte) {
	s.t.Helper()
	msg := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{"traceparent": {traceparent}}}
	_, err := s.js.PublishMsg(s.t.Context(), msg)
	require.NoError(s.t, err)
}

// taken is a start request in the hands of the worker.
type taken struct {
	schedule.ActionRequest
	msg jetstream.Msg
}

// take waits for the next start request.
func (s *installation) take() taken {
	s.t.Helper()
	msg, err := s.queue.Next(jetstream.FetchMaxWait(patience))
	require.NoError(s.t, err, "no start request")
	request := taken{msg: msg}
	require.NoError(s.t, json.Unmarshal(msg.Data(), &request.ActionRequest))
	return request
}

// report publishes a completion, as a worker does before it acknowledges.
func (s *installation) report(requestID, callback string, status schedule.Status, result string) {
	s.t.Helper()
	c := schedule.Completion{RequestID: requestID, Status: status, CloseTime: time.Now().UTC()}
	if result != "" {
		c.Result = json.RawMessage(result)
	}
	body, err := json.Marshal(&c)
	require.NoError(s.t, err)
	s.publish(callback, body)
}

func (s *installation) finish(run taken, status schedule.Status, result string) {
	s.t.Helper()
	s.report(run.RequestID, run.Callback, status, result)
	require.NoError(s.t, run.msg.DoubleAck(s.t.Context()))
}

// queued is how many start requests wait or are being worked on.
func (s *installation) queued() int {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), s.names.ActionStream())
	require.NoError(s.t, err)
	runs, err := taskqueue.Queued(s.t.Context(), stream, s.names)
	require.NoError(s.t, err)
	return runs
}

func (s *installation) record() wire.InvokerState { return s.recordOf(s.key) }

func (s *installation) recordOf(key schedule.Key) wire.InvokerState {
	s.t.Helper()
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Invoker(key))
	if !errors.Is(err, kv.ErrNotFound) {
		require.NoError(s.t, err)
	}
	return record.Value
}

// phase is that of the start of a second, "" if there is none.
func (s *installation) phase(n int) schedule.Phase {
	s.t.Helper()
	for _, start := range known(pointer(s.record())) {
		if start.Nominal.Equal(s.at(n)) {
			return start.Phase
		}
	}
	return ""
}

func (s *installation) awaitPhase(n int, phase schedule.Phase) {
	s.t.Helper()
	natstest.Eventually(s.t, patience, "a start is "+string(phase), func() bool { return s.phase(n) == phase })
}

// idle waits until the invoker has acknowledged everything that was sent to it.
func (s *installation) idle() {
	s.t.Helper()
	for _, name := range []string{s.names.TaskStream(0), s.names.CallbackStream(0)} {
		consumer, err := s.js.Consumer(s.t.Context(), name, subjects.PoolInvoker)
		require.NoError(s.t, err)
		stream, err := s.js.Stream(s.t.Context(), name)
		require.NoError(s.t, err)
		filters := consumer.CachedInfo().Config.FilterSubjects
		require.NotEmpty(s.t, filters)
		natstest.Eventually(s.t, patience, "the invoker has nothing to do", func() bool {
			// The stream tells: its consumer hears of what has been stored a moment later.
			for _, subject := range filters {
				info, err := stream.Info(s.t.Context(), jetstream.WithSubjectFilter(subject))
				if err != nil || len(info.State.Subjects) > 0 {
					return false
				}
			}
			return true
		})
	}
}

// put writes the record as a process would have that died after.
func (s *installation) put(state wire.InvokerState) {
	s.t.Helper()
	_, err := kv.Put(s.t.Context(), s.store, kv.Invoker(s.key), &state, 0)
	require.NoError(s.t, err)
}

// afterHandOff is the record that the first transition for a hand-off leads to.
func (s *installation) afterHandOff(e wire.Enqueue) wire.InvokerState {
	in := invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: e, Trace: traceparent}}}
	return invoker.Transition(s.definition(), wire.InvokerState{}, in, time.Now()).State
}

// handle makes a pool handle messages, and nothing else, without a loop; what it holds it gets once more.
func (s *installation) handle(pool *invoker.Pool, bodies ...invoker.Message) {
	group := s.group(false, bodies...)
	verdict := pool.Handle(s.t.Context(), s.key, group)
	for verdict.IsHold() {
		newest := group[len(group)-1]
		newest.Held = true
		verdict = pool.Handle(s.t.Context(), s.key, []loop.Message[invoker.Message]{newest})
	}
	require.NoError(s.t, verdict.Err())
}

var wakeUp = invoker.Message{Wake: &wire.Wake{Reason: wire.ReasonRetry}}

// history is everything in a stream.
func (s *installation) history(name string) []*jetstream.RawStreamMsg {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), name)
	require.NoError(s.t, err)
	var all []*jetstream.RawStreamMsg
	state := stream.CachedInfo().State
	for sequence := max(state.FirstSeq, 1); sequence <= state.LastSeq; sequence++ {
		msg, err := stream.GetMsg(s.t.Context(), sequence)
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			require.NoError(s.t, err)
			all = append(all, msg)
		}
	}
	return all
}

// events are those in the stream, by ID and in order, after a check that no ID is there twice.
func (s *installation) events() (kinds []schedule.EventKind) {
	s.t.Helper()
	seen := map[string]bool{}
	for _, msg := range s.history(s.names.EventStream()) {
		var event schedule.Event
		require.NoError(s.t, json.Unmarshal(msg.Data, &event))
		require.Equal(s.t, s.names.Event(schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}, event.Kind), msg.Subject)
		require.Equal(s.t, event.ID, msg.Header.Get("Nats-Msg-Id"))
		require.False(s.t, seen[event.ID], "event %s twice", event.ID)
		seen[event.ID] = true
		kinds = append(kinds, event.Kind)
	}
	return kinds
}
