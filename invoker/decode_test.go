package invoker

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// bodyOnly is a message of which only the body is asked.
type bodyOnly struct {
	jetstream.Msg
	body string
}

func (m bodyOnly) Data() []byte { return []byte(m.body) }

// bodyOf returns what is sent of a message.
func bodyOf(t *testing.T, m *Message) string {
	t.Helper()
	var (
		body []byte
		err  error
	)
	switch {
	case m.Wake != nil:
		body, err = codec.Marshal(m.Wake)
	case m.Enqueue != nil:
		body, err = codec.Marshal(m.Enqueue)
	case m.End != nil:
		body, err = codec.Marshal(m.End)
	default:
		body, err = json.Marshal(m.Completion)
	}
	require.NoError(t, err)
	return string(body)
}

// TestSubjectsOfEarlierReleasesDecode: they are spelled out here, since messages on them may wait in a stream through an upgrade.
func TestSubjectsOfEarlierReleasesDecode(t *testing.T) {
	t.Parallel()
	const (
		request = "5b8b7d5c-26a3-5e0f-8a25-6b5f7f3a7c1e"
		invoke  = "task.0.invoke.default.a=2Eb."
	)
	timedOut := schedule.Completion{RequestID: request, Status: schedule.StatusTimedOut}
	reported := timedOut
	reported.TaskQueue = "mail"
	handOff := func(source string, from, to int64) Message {
		return Message{Enqueue: &wire.Enqueue{
			Version: 3, Source: source, Span: wire.Span{From: time.Unix(0, from).UTC(), To: time.Unix(0, to).UTC()},
		}}
	}
	for subject, want := range map[string]Message{
		invoke + "wake":                                 {Wake: &wire.Wake{Version: 3}},
		invoke + "deleted":                              {Wake: &wire.Wake{Version: 3}},
		invoke + "auto-d12krfgs6ygw-d12ks712n6rk":       handOff("auto", 1715000000000000000, 1715000060000000000),
		invoke + "auto--1y2p0ij32e8e8-1y2p0ij32e8e7":    handOff("auto", math.MinInt64, math.MaxInt64),
		invoke + request + "-d12krfgs6ygw-d12ks712n6rk": handOff(request, 1715000000000000000, 1715000060000000000),
		invoke + request + "--5--4":                     handOff(request, -5, -4),
		invoke + "end-cancel-" + request:                {End: &wire.EndRun{Version: 3}},
		invoke + "end-terminate-" + request:             {End: &wire.EndRun{Version: 3}},
		"task.0.timeout.default.a=2Eb." + request:       {Completion: &timedOut},
		"callback.0.default.mail.a=2Eb." + request:      {Completion: &reported},
	} {
		task, err := subjects.Default().ParseTask("carillon." + subject)
		require.NoError(t, err, subject)
		have, err := new(Pool).Decode(task, bodyOnly{body: bodyOf(t, &want)})
		require.NoError(t, err, subject)
		require.Equal(t, want, have, subject)
	}
}

// TestWhatIsUnknownIsNoHandOff: it may come from a later release, and its body have the form of a hand-off.
func TestWhatIsUnknownIsNoHandOff(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"task.0.invoke.default.a.wake-x", "task.0.invoke.default.a.wake-of-a-later-release", "task.0.invoke.default.a.auto-1-2", "task.0.invoke.default.a.later", "task.0.invoke.default.a.auto-1", "task.0.invoke.default.a.-1-2",
		"task.0.invoke.default.a.auto-1-=", "task.0.invoke.default.a.auto-1-zzzzzzzzzzzzzzz", "task.0.generate.default.a.wake",
		"task.0.backfill.default.a.b", "task.0.later.default.a.auto-1-2",
	} {
		task, err := subjects.Default().ParseTask("carillon." + subject)
		require.NoError(t, err, subject)
		_, err = new(Pool).Decode(task, bodyOnly{body: bodyOf(t, &Message{Enqueue: &wire.Enqueue{Source: schedule.SourceAuto}})})
		require.ErrorContains(t, err, "invoker: ", subject)
	}
}
