package deadletter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const patience = natstest.Patience

// testBundle is an installation of one shard without a process.
type testBundle struct {
	*testing.T
	js     jetstream.JetStream
	names  subjects.Names
	reader *deadletter.Reader
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	b := &testBundle{T: t, js: js, names: natstest.Names(t)}
	_, err := topology.Ensure(t.Context(), js, b.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	b.reader = deadletter.NewReader(js, b.names)
	return b
}

func keyOf(id string) schedule.Key { return schedule.Key{Namespace: "default", ID: id} }

func (b *testBundle) publish(subject string, header nats.Header, body []byte, options ...jetstream.PublishOpt) {
	b.Helper()
	_, err := b.js.PublishMsg(b.Context(), &nats.Msg{Subject: subject, Header: header, Data: body}, options...)
	require.NoError(b, err)
}

// take receives the next message of a pool, or of the workers of task queue q.
func (b *testBundle) take(pool string) jetstream.Msg {
	b.Helper()
	stream := b.names.TaskStream(0)
	switch pool {
	case subjects.PoolInvoker: // their letters are about completions here
		stream = b.names.CallbackStream(0)
	case "worker":
		config := b.names.WorkerConsumer("default", "q")
		stream, pool = b.names.ActionStream(), config.Durable
		_, err := b.js.CreateOrUpdateConsumer(b.Context(), stream, config)
		require.NoError(b, err)
	}
	consumer, err := b.js.Consumer(b.Context(), stream, pool)
	require.NoError(b, err)
	msg, err := consumer.Next(jetstream.FetchMaxWait(patience))
	require.NoError(b, err)
	return msg
}

// letter makes a letter of a message, as a pool does, but leaves the message in its stream.
func (b *testBundle) letter(pool string, msg jetstream.Msg) deadletter.Number {
	b.Helper()
	meta, err := msg.Metadata()
	require.NoError(b, err)
	subject, make := b.names.DeadLetter(pool), deadletter.New
	if pool == deadletter.Worker {
		subject, make = b.names.WorkerDeadLetter("default", "q"), deadletter.NewPlain
	}
	ack, err := b.js.PublishMsg(b.Context(), make(subject, msg, meta, errors.New("no good"), b.js.Conn().MaxPayload()))
	require.NoError(b, err)
	return deadletter.Number{Sequence: ack.Sequence, Worker: pool == deadletter.Worker}
}

// bury publishes a message and makes a letter of it.
func (b *testBundle) bury(pool, subject, body string) (number deadletter.Number) {
	b.Helper()
	b.publish(subject, nats.Header{"traceparent": {"00-trace"}}, []byte(body))
	msg := b.take(pool)
	number = b.letter(pool, msg)
	b.terminate(msg)
	return number
}

func (b *testBundle) terminate(msg jetstream.Msg) {
	b.Helper()
	require.NoError(b, msg.DoubleAck(b.Context())) // unlike a termination, it waits for the server
}

// last returns the last message of a subject, nil if there is none.
func (b *testBundle) last(stream, subject string) *jetstream.RawStreamMsg {
	b.Helper()
	s, err := b.js.Stream(b.Context(), stream)
	require.NoError(b, err)
	msg, err := s.GetLastMsgForSubject(b.Context(), subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	require.NoError(b, err)
	return msg
}

func (b *testBundle) event(key schedule.Key, kind schedule.EventKind) schedule.Event {
	b.Helper()
	msg := b.last(b.names.EventStream(), b.names.Event(key, kind))
	require.NotNil(b, msg, "event %s", kind)
	var event schedule.Event
	require.NoError(b, json.Unmarshal(msg.Data, &event))
	return event
}

// refused checks that a letter cannot be replayed now, and that it stays.
func (b *testBundle) refused(number deadletter.Number, want string) {
	b.Helper()
	_, err := b.reader.Replay(b.Context(), number)
	require.EqualError(b, err, fmt.Sprintf("letter %s was not replayed: %s", number, want))
	require.Equal(b, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	_, err = b.reader.Get(b.Context(), number)
	require.NoError(b, err)
}

func (b *testBundle) replayed(number deadletter.Number) deadletter.Replayed {
	b.Helper()
	replayed, err := b.reader.Replay(b.Context(), number)
	require.NoError(b, err)
	require.Equal(b, number, replayed.Number)
	_, err = b.reader.Get(b.Context(), number)
	require.Equal(b, schedule.CodeNotFound, schedule.CodeOf(err), "the letter is gone")
	return replayed
}

// numbers returns the numbers of the letters that a filter selects.
func (b *testBundle) numbers(filter deadletter.Filter) []string {
	b.Helper()
	letters, err := b.reader.List(b.Context(), filter)
	require.NoError(b, err)
	numbers := []string{}
	for _, l := range letters {
		numbers = append(numbers, l.Number.String())
	}
	return numbers
}

func TestListGetAndPurge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.numbers(deadletter.Filter{}))
	b.bury(subjects.PoolGenerator, b.names.Generate(0, keyOf("a"), "due"), "one")
	b.bury(subjects.PoolGenerator, b.names.Generate(0, keyOf("b"), "due"), "two")
	b.bury(subjects.PoolInvoker, b.names.Callback(0, keyOf("a"), "q", "r"), "three")
	b.publish(b.names.WorkerDeadLetter("default", "q"), nil, []byte("says nothing"))
	b.bury(subjects.PoolBackfiller, b.names.Backfill(0, keyOf("c"), "b"), "four")

	assert.Equal(t, []string{"1", "2", "3", "w1", "4"}, b.numbers(deadletter.Filter{}))
	assert.Equal(t, []string{"w1", "4"}, b.numbers(deadletter.Filter{Limit: 2}))
	assert.Equal(t, []string{"w1"}, b.numbers(deadletter.Filter{Pool: deadletter.Worker}))
	assert.Equal(t, []string{"1", "2"}, b.numbers(deadletter.Filter{Pool: subjects.PoolGenerator}))
	assert.Equal(t, []string{"1", "3"}, b.numbers(deadletter.Filter{Namespace: "default", ScheduleID: "a"}))
	assert.Equal(t, []string{"2"}, b.numbers(deadletter.Filter{Pool: subjects.PoolGenerator, Limit: 1}))

	message, err := b.reader.Get(t.Context(), deadletter.Number{Sequence: 3})
	require.NoError(t, err)
	assert.NotZero(t, message.Origin.Sequence)
	assert.Equal(t, deadletter.Origin{
		Subject: b.names.Callback(0, keyOf("a"), "q", "r"), Stream: b.names.CallbackStream(0), Sequence: message.Origin.Sequence,
	}, message.Origin)
	assert.Equal(t, "a", message.ScheduleID)
	assert.Equal(t, map[string][]string{"traceparent": {"00-trace"}}, message.Headers)
	assert.Equal(t, deadletter.Body{Format: deadletter.FormatText, Text: "three"}, message.Body)
	assert.WithinDuration(t, time.Now(), message.Time, time.Minute)

	require.NoError(t, b.reader.Delete(t.Context(), deadletter.Number{Sequence: 1, Worker: true}))
	require.NoError(t, b.reader.Delete(t.Context(), deadletter.Number{Sequence: 4}))
	for _, missing := range []deadletter.Number{{}, {Sequence: 4}, {Sequence: 99}, {Worker: true}, {Sequence: 1, Worker: true}} {
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(b.reader.Delete(t.Context(), missing)), missing)
		_, err = b.reader.Get(t.Context(), missing)
		assert.EqualError(t, err, "there is no dead letter "+missing.String())
	}
	purged, err := b.reader.Purge(t.Context(), deadletter.Filter{ScheduleID: "a"})
	require.NoError(t, err)
	assert.Equal(t, 2, purged)
	assert.Equal(t, []string{"2"}, b.numbers(deadletter.Filter{}))

	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.WorkerDeadLetterStream()))
	assert.Equal(t, []string{"2"}, b.numbers(deadletter.Filter{}), "an earlier release has no such stream")
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(b.reader.Delete(t.Context(), deadletter.Number{Sequence: 1, Worker: true})))
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.DeadLetterStream()))
	_, err = b.reader.List(t.Context(), deadletter.Filter{})
	assert.EqualError(t, err, "there is no stream "+b.names.DeadLetterStream()+": no installation has this prefix")
}

// TestALetterIsNotWhatItsHeadersSay: a worker chooses the headers of its letters, and JetStream adds its own after them.
func TestALetterIsNotWhatItsHeadersSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	forged := nats.Header{
		"Nats-Subject": {b.names.WorkerDeadLetter("default", "other")}, "Nats-Sequence": {"77"}, "Nats-Time-Stamp": {"2000-01-01T00:00:00Z"},
		"Nats-Stream": {"OTHER"},
	}
	b.publish(b.names.WorkerDeadLetter("default", "q"), forged, nil)
	b.publish(b.names.WorkerDeadLetter("default", "q"), nil, []byte("body"))
	letters, err := b.reader.List(t.Context(), deadletter.Filter{})
	require.NoError(t, err)
	require.Len(t, letters, 2)
	for _, letter := range letters {
		message, err := b.reader.Get(t.Context(), letter.Number)
		require.NoError(t, err)
		require.Equal(t, letter, message.Letter)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject := b.names.Callback(0, keyOf("a"), "q", "r")
	letter := b.bury(subjects.PoolInvoker, subject, "done")
	b.reader = b.reader.As("ann@host")
	message, err := b.reader.Get(t.Context(), letter)
	require.NoError(t, err)
	assert.False(t, b.replayed(letter).Superseded)

	sent := b.take(subjects.PoolInvoker)
	assert.Equal(t, subject, sent.Subject())
	assert.Equal(t, "done", string(sent.Data()))
	assert.Equal(t, "00-trace", sent.Headers().Get("traceparent"))
	for name := range sent.Headers() {
		assert.False(t, strings.HasPrefix(name, "Carillon-"), name)
	}
	event := b.event(keyOf("a"), schedule.EventReplayed)
	assert.WithinDuration(t, time.Now(), event.Time, time.Minute)
	event.Time = time.Time{}
	assert.Equal(t, schedule.Event{
		ID:   fmt.Sprintf("replayed-%s-%d", b.names.CallbackStream(0), message.Origin.Sequence),
		Kind: schedule.EventReplayed, Namespace: "default", ScheduleID: "a",
		RequestID: "r", Identity: "ann@host", Reason: "was a dead letter: no good", Trace: "00-trace",
	}, event)
	_, err = b.reader.Replay(t.Context(), letter)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))

	// The message fails again: that makes another letter, which can be sent as well.
	again := b.letter(subjects.PoolInvoker, sent)
	b.refused(again, "the message is still in stream "+b.names.CallbackStream(0)+"; try again in a moment")
	b.terminate(sent)
	b.replayed(again)
	require.NotNil(t, b.last(b.names.CallbackStream(0), subject))
}

// TestReplayIsSafeToRepeat: the process that sent the message died before it removed the letter.
func TestReplayIsSafeToRepeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject := b.names.Generate(0, keyOf("a"), "due")
	letter := b.bury(subjects.PoolGenerator, subject, "wake")
	message, err := b.reader.Get(t.Context(), letter)
	require.NoError(t, err)
	b.publish(subject, nats.Header{}, message.Data, jetstream.WithMsgID(
		fmt.Sprintf("replay-%s-%d", b.names.TaskStream(0), message.Origin.Sequence)))
	assert.False(t, b.replayed(letter).Superseded)
	b.terminate(b.take(subjects.PoolGenerator))

	// This is a second letter about the same message. The stream knows the message, which has been handled meanwhile.
	letter = b.bury(subjects.PoolGenerator, subject, "wake")
	message, err = b.reader.Get(t.Context(), letter)
	require.NoError(t, err)
	b.publish(subject, nats.Header{}, message.Data, jetstream.WithMsgID(
		fmt.Sprintf("replay-%s-%d", b.names.TaskStream(0), message.Origin.Sequence)))
	b.terminate(b.take(subjects.PoolGenerator))
	b.replayed(letter)
	assert.Nil(t, b.last(b.names.TaskStream(0), subject))
}

func TestReplayDoesNotReplaceWhatIsNewer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wake := b.names.Generate(0, keyOf("a"), "due")
	letter := b.bury(subjects.PoolGenerator, wake, "old")
	b.publish(wake, nil, []byte("new"))
	assert.True(t, b.replayed(letter).Superseded)
	assert.Equal(t, "new", string(b.last(b.names.TaskStream(0), wake).Data))

	callback := b.names.Callback(0, keyOf("a"), "q", "r")
	letter = b.bury(subjects.PoolInvoker, callback, "completed")
	b.publish(callback, nil, []byte("timed out"))
	b.refused(letter, "another completion of the run waits to be processed; try again in a moment")
	assert.Equal(t, "timed out", string(b.last(b.names.CallbackStream(0), callback).Data))
}

// request stores a start request as the invoker does, and returns its subject.
func (b *testBundle) request(requestID string) (subject string) {
	b.Helper()
	subject = b.names.Action("default", "q", "w")
	body, err := json.Marshal(&schedule.ActionRequest{
		Namespace: "default", ScheduleID: "a", WorkflowID: "w", TaskQueue: "q", RequestID: requestID,
	})
	require.NoError(b, err)
	b.publish(subject, nil, body, jetstream.WithMsgID(requestID), jetstream.WithExpectLastSequencePerSubject(0))
	return subject
}

func TestReplayOfAStartRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	natstest.ForgetSoon(t, b.js, b.names.ActionStream())
	subject := b.request("r1")
	msg := b.take("worker")
	letter := b.letter("worker", msg)
	b.refused(letter, "the message is still in stream "+b.names.ActionStream()+"; try again in a moment")
	b.terminate(msg)

	b.request("r2")
	b.refused(letter, "another run of its workflow ID is queued or running")
	b.terminate(b.take("worker"))

	natstest.Eventually(t, patience, "NATS has forgotten the first one", func() bool {
		replayed, err := b.reader.Replay(t.Context(), letter)
		return err == nil && replayed.ScheduleID == "a"
	})
	sent := b.last(b.names.ActionStream(), subject)
	require.NotNil(t, sent)
	assert.Equal(t, "r1", sent.Header.Get(nats.MsgIdHdr))
	assert.Equal(t, "r1", b.event(keyOf("a"), schedule.EventReplayed).RequestID)
}

// TestReplayOfAStartRequestThatNATSRemembers: the stream would drop it as a repeat of the request that became the letter, and the
// run would be lost with the letter.
func TestReplayOfAStartRequestThatNATSRemembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject := b.request("r1")
	msg := b.take("worker")
	letter := b.letter("worker", msg)
	b.terminate(msg)
	b.refused(letter, "NATS takes it for a repeat until 2m0s after it was first sent; try again then")
	assert.Nil(t, b.last(b.names.ActionStream(), subject))
}

func TestReplayWithoutTheStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject := b.names.Generate(0, keyOf("a"), "due")
	letter := b.bury(subjects.PoolGenerator, subject, "wake")
	stream := b.names.TaskStream(0)
	require.NoError(t, b.js.DeleteStream(t.Context(), stream))
	want := fmt.Sprintf("stream %s does not take messages on %s any more", stream, subject)
	b.refused(letter, want)
	_, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream + "_NEW", Subjects: []string{subject}})
	require.NoError(t, err)
	b.refused(letter, want)
}

// TestReplayWithoutTheEventStream: a message that was sent is not sent again because its event is missing.
func TestReplayWithoutTheEventStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	letter := b.bury(subjects.PoolGenerator, b.names.Generate(0, keyOf("a"), "due"), "wake")
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.EventStream()))
	_, err := b.reader.Replay(t.Context(), letter)
	assert.ErrorContains(t, err, "sent again, but the history does not say so")
	assert.Empty(t, b.numbers(deadletter.Filter{}))
}

func TestReplayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	letter := b.bury(subjects.PoolGenerator, b.names.Generate(0, keyOf("a"), "due"), "wake")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.reader.Replay(ctx, letter)
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.reader.List(ctx, deadletter.Filter{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestLettersOfEarlierWorkers: they do not prove their origin, so that a person must look at each.
func TestLettersOfEarlierWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	natstest.ForgetSoon(t, b.js, b.names.ActionStream())
	subject := b.request("r1")
	msg := b.take("worker")
	meta, err := msg.Metadata()
	require.NoError(t, err)
	letter := deadletter.New(b.names.SharedWorkerDeadLetter(), msg, meta, errors.New("no good"), b.js.Conn().MaxPayload())
	ack, err := b.js.PublishMsg(t.Context(), letter)
	require.NoError(t, err)
	assert.Equal(t, b.names.WorkerDeadLetterStream(), ack.Stream)
	b.terminate(msg)

	number := deadletter.Number{Sequence: ack.Sequence, Worker: true}
	message, err := b.reader.Get(t.Context(), number)
	require.NoError(t, err)
	assert.True(t, message.Unproven)
	_, err = b.reader.Replay(t.Context(), number)
	require.EqualError(t, err, "letter w1 cannot be replayed unseen: any worker may have written it; "+
		"look at it with carillon dlq show w1, then replay it by its number")
	assert.Nil(t, b.last(b.names.ActionStream(), subject))
	natstest.Eventually(t, patience, "NATS has forgotten the first one", func() bool {
		_, err := b.reader.ReplaySeen(t.Context(), number)
		return err == nil
	})
	require.NotNil(t, b.last(b.names.ActionStream(), subject))
}

// TestOneQueuePushesOutItsOwnLettersOnly: a task queue does not push out the letters of another one, and does not make one vanish
// by its message ID.
func TestOneQueuePushesOutItsOwnLettersOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.request("r1")
	msg := b.take("worker")
	guessed := fmt.Sprintf("%s-%d", b.names.ActionStream(), 1)
	flooding := b.names.WorkerDeadLetter("default", "flooding")
	b.publish(flooding, nil, nil, jetstream.WithMsgID(guessed))
	mine := b.letter(deadletter.Worker, msg)
	for range subjects.MaxWorkerLetters + 10 {
		b.publish(flooding, nil, []byte("more"))
	}
	message, err := b.reader.Get(t.Context(), mine)
	require.NoError(t, err)
	assert.Contains(t, string(message.Data), `"r1"`)
	letters, err := b.reader.List(t.Context(), deadletter.Filter{})
	require.NoError(t, err)
	assert.Len(t, letters, subjects.MaxWorkerLetters+1)
}
