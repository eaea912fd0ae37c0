package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestPermanentErrorsEndAsDeadLetters(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"marked":  fmt.Errorf("seen from above: %w", permanent(errors.New("no good"))),
		"corrupt": fmt.Errorf("no good: %w", codec.ErrFormat),
		"invalid": schedule.Invalid("spec", "is no good"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			config := b.config()
			config.MaxDeliveries = 3
			var j journal
			b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
				j.add(key, group)
				return Retry(cause)
			})
			header := nats.Header{"traceparent": {"00-trace"}, "Nats-Schedule-Next": {"purge"}, "Nats-Scheduler": {"x"}}
			sequence := b.publishMsg("a", "wake", header, []byte("body"))

			letter := b.letters(1)[0]
			b.awaitEmpty()
			assert.Equal(t, b.names.DeadLetter(config.Pool), letter.Subject)
			assert.Equal(t, "body", string(letter.Data))
			assert.Equal(t, nats.Header{
				"traceparent":               {"00-trace"},
				deadletter.HeaderReason:     {cause.Error()},
				deadletter.HeaderSubject:    {b.names.Generate(0, keyOf("a"), "wake")},
				deadletter.HeaderStream:     {b.names.TaskStream(0)},
				deadletter.HeaderSequence:   {sequence},
				deadletter.HeaderDeliveries: {"3"},
				nats.MsgIdHdr:               {b.names.TaskStream(0) + "-" + sequence},
			}, letter.Header)
			assert.Len(t, j.all(), 3)
		})
	}
}

func TestWhatCannotBeDecodedIsADeadLetterAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Done()
	})
	b.publishMsg("a", "1", nil, []byte(garbage))
	_, err := b.js.Publish(t.Context(), b.names.Generate(0, keyOf("a"), "2")+".too.long", []byte("fine"))
	require.NoError(t, err)
	b.publish("a", "3")
	b.awaitEmpty()
	reasons := ""
	for _, letter := range b.letters(2) {
		assert.Equal(t, "1", letter.Header.Get(deadletter.HeaderDeliveries))
		reasons += letter.Header.Get(deadletter.HeaderReason)
	}
	assert.Contains(t, reasons, "cannot read garbage")
	assert.Contains(t, reasons, "is not a task subject")
	calls := j.all()
	require.Len(t, calls, 1)
	assert.Equal(t, []string{"3"}, calls[0].bodies)
}

// TestOneBadMessageDoesNotTakeOthersAlong: the handler panics for any group with the bad one in it.
func TestOneBadMessageDoesNotTakeOthersAlong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.publish("a", "good")
	b.publish("a", "bad")
	b.publish("a", "fine")
	config := b.config()
	config.MaxDeliveries = 2
	var j journal
	b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		for _, m := range group {
			if m.Body == "bad" {
				panic("bad\r\nmessage " + strings.Repeat("x", 2*1024))
			}
		}
		j.add(key, group)
		return Done()
	})
	letter := b.letters(1)[0]
	b.awaitEmpty()
	assert.Equal(t, "bad", string(letter.Data))
	reason := letter.Header.Get(deadletter.HeaderReason)
	assert.Contains(t, reason, "panic: bad")
	assert.LessOrEqual(t, len(reason), 1024)
	bodies := map[string]bool{}
	for _, c := range j.all() {
		for _, body := range c.bodies {
			bodies[body] = true
		}
	}
	assert.Equal(t, map[string]bool{"good": true, "fine": true}, bodies)
}

// TestMessageStaysWhileTheDeadLetterStreamIsAway, and others are handled meanwhile.
func TestMessageStaysWhileTheDeadLetterStreamIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.DeadLetterStream()))
	var j journal
	config := b.config()
	config.MaxDeliveries = 1
	b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		if key.ID == "broken" {
			return Retry(permanent(errors.New("broken")))
		}
		return Done()
	})
	b.publishMsg("a", "0", nil, []byte(garbage))
	b.publish("broken", "0")
	b.publish("fine", "0")
	natstest.Eventually(t, patience, "the good message is handled", func() bool { return b.stored(b.names.TaskStream(0)) == 2 })
	b.ensure(1)
	b.letters(2)
	b.awaitEmpty()
}

// TestLetterAsLargeAsNATSAllows: the message fills the limit, and its letter has headers on top.
func TestLetterAsLargeAsNATSAllows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.MaxDeliveries = 1
	b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict {
		return Retry(permanent(errors.New("no good")))
	})
	body := bytes.Repeat([]byte("x"), int(b.js.Conn().MaxPayload()))
	b.publishMsg("a", "0", nil, body)
	letter := b.letters(1)[0]
	b.awaitEmpty()
	assert.Equal(t, fmt.Sprint(len(body)), letter.Header.Get(deadletter.HeaderSize))
	assert.Greater(t, len(letter.Data), len(body)-4096)
	assert.True(t, bytes.HasPrefix(body, letter.Data))
}

// event returns the only event of a schedule, of a kind.
func (b *testBundle) event(key schedule.Key, kind schedule.EventKind) schedule.Event {
	b.Helper()
	natstest.Eventually(b, patience, "there is an event", func() bool { return b.stored(b.names.EventStream()) > 0 })
	stream, err := b.js.Stream(b.Context(), b.names.EventStream())
	require.NoError(b, err)
	require.EqualValues(b, 1, stream.CachedInfo().State.Msgs)
	msg, err := stream.GetLastMsgForSubject(b.Context(), b.names.Event(key, kind))
	require.NoError(b, err)
	var event schedule.Event
	require.NoError(b, json.Unmarshal(msg.Data, &event))
	require.Equal(b, event.ID, msg.Header.Get(nats.MsgIdHdr))
	return event
}

func TestDeadLetterIsInTheHistoryOfItsSchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	config := b.config()
	config.MaxDeliveries, config.Now = 1, func() time.Time { return at }
	b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict {
		return Retry(permanent(errors.New("no\ngood")))
	})
	_, err := b.js.Publish(t.Context(), b.names.Generate(0, keyOf("a"), "x")+".too.long", []byte("of no schedule"))
	require.NoError(t, err)
	b.letters(1)
	trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sequence := b.publishMsg("a", "wake", nats.Header{"traceparent": {trace}}, []byte("body"))
	b.letters(2)
	b.awaitEmpty()
	assert.Equal(t, schedule.Event{
		ID: "dead_letter-" + b.names.TaskStream(0) + "-" + sequence, Kind: schedule.EventDeadLetter, Time: at,
		Namespace: "default", ScheduleID: "a", Reason: "no good", Trace: trace,
	}, b.event(keyOf("a"), schedule.EventDeadLetter))
}

// TestLettersDoNotWaitForTheEventStream: nobody answers there, and with one turn anything that waits holds up all.
func TestLettersDoNotWaitForTheEventStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.EventStream()))
	// Core NATS subscribers take the events, and never acknowledge one.
	silent, err := b.js.Conn().SubscribeSync(b.names.Events(schedule.Key{}))
	require.NoError(t, err)
	defer func() { assert.NoError(t, silent.Unsubscribe()) }()
	config := b.config()
	config.MaxDeliveries, config.Concurrency = 1, 1
	b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict {
		return Retry(permanent(errors.New("no good")))
	})
	begin := time.Now()
	const count = 20
	for i := range count {
		b.publish(strconv.Itoa(i), "wake")
	}
	b.letters(count)
	b.awaitEmpty()
	assert.Less(t, time.Since(begin), count*eventWait/2)
}

// TestPoisonedScheduleHoldsUpNobody: while its wake is tried again and again, the others of the shard are handled, though
// there is one turn for all.
func TestPoisonedScheduleHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.Concurrency = 1
	var poisoned, others journal
	b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if key.ID == "poisoned" {
			poisoned.add(key, group)
			return Retry(fmt.Errorf("read its record: %w", codec.ErrFormat))
		}
		others.add(key, group)
		return Done()
	})
	b.publish("poisoned", "wake")
	poisoned.await(t, 2)
	const count = 100
	for i := range count {
		b.publish(strconv.Itoa(i), "wake")
	}
	others.await(t, count)
	assert.Zero(t, b.stored(b.names.DeadLetterStream()), "the poisoned one is still being tried")
	assert.LessOrEqual(t, len(poisoned.all()), 9)
}

// TestFloodOfDeadLetters: whoever may send to a pool chooses how many messages of it cannot be read, and not how many lines are logged.
// The letters are all there.
func TestFloodOfDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var lines natstest.Lines
	config := b.config()
	config.Logger = lines.Logger()
	b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict { return Done() })
	const flood = 300
	for n := range flood {
		b.publishMsg("a", strconv.Itoa(n), nil, []byte(garbage))
	}
	b.awaitEmpty()
	b.letters(flood)
	logged := lines.Count("message is a dead letter")
	assert.GreaterOrEqual(t, logged, 1)
	assert.Less(t, logged, flood/2)
}

// TestLettersAboutCompletionsAreOfTheirQueue: workers can make the invoker write as many as they like, and push out no others.
func TestLettersAboutCompletionsAreOfTheirQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.Pool = subjects.PoolInvoker
	b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict { return Done() })
	reported := b.names.Prefix() + ".callback.0.default."
	send := func(subject string, body []byte) {
		t.Helper()
		_, err := b.js.Publish(t.Context(), subject, body)
		require.NoError(t, err)
	}
	send(b.names.InvokeWake(0, keyOf("a")), []byte(garbage))
	send(reported+"mine.a.r", []byte(garbage))
	flood := subjects.MaxWorkerLetters + 5
	for i := range flood {
		send(fmt.Sprintf("%sflooding.a.b.c.%d", reported, i), bytes.Repeat([]byte("x"), 20<<10))
	}
	reader := deadletter.NewReader(b.js, b.names)
	letters := map[string][]deadletter.Letter{}
	natstest.Eventually(t, patience, "all letters", func() bool {
		stream, err := b.js.Stream(t.Context(), b.names.WorkerDeadLetterStream())
		require.NoError(t, err)
		return stream.CachedInfo().State.LastSeq == uint64(flood+1) && b.stored(b.names.DeadLetterStream()) == 1
	})
	all, err := reader.List(t.Context(), deadletter.Filter{})
	require.NoError(t, err)
	for _, letter := range all {
		letters[letter.TaskQueue] = append(letters[letter.TaskQueue], letter)
	}
	require.Len(t, letters, 3)
	require.Len(t, letters[""], 1)
	assert.Equal(t, "1", letters[""][0].Number.String())
	assert.Len(t, letters["flooding"], subjects.MaxWorkerLetters)
	require.Len(t, letters["mine"], 1)
	mine := letters["mine"][0]
	assert.Equal(t, "default", mine.Namespace)
	assert.Equal(t, "a", mine.ScheduleID)
	assert.Equal(t, subjects.PoolInvoker, mine.Pool)
	assert.False(t, mine.Foreign)
	replayed, err := reader.Replay(t.Context(), mine.Number)
	require.NoError(t, err, "what was only not read yet can be sent again")
	assert.Equal(t, mine.Number, replayed.Number)
}

// TestSoManyLettersOfANamespaceAreToldOf: events are kept for a month, and a worker could make any number.
func TestSoManyLettersOfANamespaceAreToldOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	l := New[string](Config{Now: func() time.Time { return now }, Pool: subjects.PoolInvoker, Names: subjects.Default()}, nil)
	told := func(namespace string) (count int) {
		for range 2 * tellBurst {
			if l.mayTell(namespace) {
				count++
			}
		}
		return count
	}
	assert.Equal(t, tellBurst, told("flooding"))
	assert.Equal(t, tellBurst, told("other"))
	now = now.Add(time.Minute)
	assert.Equal(t, int(time.Minute/tellEvery), told("flooding"))
	for i := range 2 * tellNamespaces {
		l.mayTell(fmt.Sprint(i))
	}
	assert.LessOrEqual(t, len(l.told), tellNamespaces)
}
