package deadletter

import (
	"encoding/json"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

var (
	names = subjects.Default()
	tick  = schedule.Key{Namespace: "ops", ID: "tick tock"}
)

// letterOf is a letter about a message, as the stream gives it back.
func letterOf(origin Origin, header nats.Header, body []byte) *stored {
	h := nats.Header{
		nats.MsgIdHdr: {origin.id()}, "Nats-Sequence": {"7"}, HeaderReason: {"no good"}, HeaderDeliveries: {"10"},
		HeaderSubject: {origin.Subject}, HeaderStream: {origin.Stream}, HeaderSequence: {number10(origin.Sequence)},
	}
	maps.Copy(h, header)
	return &stored{
		sequence: 7, time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), subject: names.DeadLetter(subjects.PoolInvoker),
		header: h, data: body,
	}
}

func number10(n uint64) string { return strconv.FormatUint(n, 10) }

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func requestOf(workflowID string) schedule.ActionRequest {
	return schedule.ActionRequest{
		Namespace: tick.Namespace, ScheduleID: tick.ID, WorkflowID: workflowID, RequestID: "r-" + workflowID, TaskQueue: "a queue",
	}
}

func TestWhatALetterSays(t *testing.T) {
	t.Parallel()
	origin := Origin{Subject: names.Generate(2, tick, "due"), Stream: names.TaskStream(2), Sequence: 4711}
	s := letterOf(origin, nats.Header{"traceparent": {"00-trace"}}, []byte("body"))
	want := Message{
		Letter: Letter{
			Sequence: 7, Time: s.time, Pool: "invoker", Reason: "no good", Deliveries: 10, Namespace: "ops", ScheduleID: "tick tock",
			Origin: origin, Size: 4,
		},
		Headers: map[string][]string{"traceparent": {"00-trace"}}, Body: Body{Format: FormatText, Text: "body"}, Data: []byte("body"),
	}
	assert.Equal(t, want, s.message(names))

	s.header.Set(HeaderSize, "4096")
	want.Size, want.Cut = 4096, true
	assert.Equal(t, want, s.message(names))

	silent := stored{sequence: 8, subject: names.DeadLetter("worker"), data: []byte{0xff}}
	assert.Equal(t, Message{
		Letter:  Letter{Sequence: 8, Pool: "worker", Size: 1},
		Headers: map[string][]string{}, Body: Body{Format: FormatBase64, Text: "/w=="}, Data: []byte{0xff},
	}, silent.message(names))
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	request := requestOf("w 1")
	stream := names.TaskStream(2)
	for subject, want := range map[string]meaning{
		names.Generate(2, tick, subjects.WhatGuard):               {kind: kindWake, key: tick, stream: stream},
		names.InvokeWake(2, tick):                                 {kind: kindWake, key: tick, stream: stream},
		names.Backfill(2, tick, "b"):                              {kind: kindWake, key: tick, stream: stream},
		names.InvokeEnd(2, tick, schedule.ControlCancel, "r1"):    {kind: kindEnd, key: tick, stream: stream},
		names.InvokeEnqueue(2, tick, "auto", schedule.Span{}):     {kind: kindEnqueue, key: tick, stream: stream},
		names.Callback(2, tick, "q", "r"):                         {kind: kindCompletion, key: tick, stream: names.CallbackStream(2), former: stream, requestID: "r"},
		names.Timeout(2, tick, "r"):                               {kind: kindCompletion, key: tick, stream: stream, requestID: "r"},
		names.Action(tick.Namespace, "a queue", "w 1"):            {kind: kindRequest, key: tick, stream: names.ActionStream(), requestID: "r-w 1"},
		names.Action(tick.Namespace, "another", "w 1"):            {},
		names.DueTimer(2, tick):                                   {},
		names.Generate(2, tick, subjects.WhatGuard) + ".too.long": {},
		"": {},
	} {
		assert.Equal(t, want, meaningOf(names, subject, []byte(jsonOf(request))), subject)
	}
	assert.Equal(t, meaning{}, meaningOf(names, names.Action(tick.Namespace, "a queue", "w 1"), []byte("garbage")))
}

func TestBodies(t *testing.T) {
	t.Parallel()
	wake, err := schedule.Marshal(&schedule.Wake{Version: 3, Reason: schedule.ReasonDue})
	require.NoError(t, err)
	enqueue, err := schedule.Marshal(&schedule.Enqueue{Source: "auto", Missed: 2})
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		kind kind
		data []byte
		want Body
	}{
		{"wake", kindWake, wake, Body{Format: FormatRecord, Value: json.RawMessage(`{"version":3,"reason":"due"}`)}},
		{"JSON", kindCompletion, []byte(`{"a": 1}`), Body{Format: FormatJSON, Value: json.RawMessage(`{"a": 1}`)}},
		{"text", kindWake, []byte("größer\nals"), Body{Format: FormatText, Text: "größer\nals"}},
		{"terminal", kindUnknown, []byte("\x1b[2J"), Body{Format: FormatBase64, Text: "G1sySg=="}},
		{"nothing", kindWake, nil, Body{Format: FormatText}},
		{"cut short", kindWake, wake[:1], Body{Format: FormatBase64, Text: "AQ=="}},
	} {
		assert.Equal(t, c.want, readBody(c.kind, c.data), c.name)
	}
	got := readBody(kindEnqueue, enqueue)
	assert.Equal(t, FormatRecord, got.Format)
	assert.Contains(t, string(got.Value), `"missed":2`)
}

func TestFilter(t *testing.T) {
	t.Parallel()
	l := Letter{Pool: "generator", Namespace: "ops", ScheduleID: "tick"}
	for _, f := range []Filter{{}, {Pool: "generator"}, {Namespace: "ops"}, {Namespace: "ops", ScheduleID: "tick", Limit: 1}} {
		assert.True(t, f.matches(&l), f)
	}
	for _, f := range []Filter{{Pool: "invoker"}, {Namespace: "dev"}, {Pool: "generator", ScheduleID: "tock"}} {
		assert.False(t, f.matches(&l), f)
	}
	limit := Filter{Limit: 2}
	assert.Equal(t, []Letter{{Sequence: 2}, {Sequence: 3}}, limit.newest([]Letter{{Sequence: 1}, {Sequence: 2}, {Sequence: 3}}))
}

func TestWhatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	wake := Origin{Subject: names.Generate(2, tick, "due"), Stream: names.TaskStream(2), Sequence: 1}
	forged := letterOf(wake, nil, nil)
	forged.subject = names.DeadLetter(Worker)
	for want, s := range map[string]*stored{
		"it has only the first 3 of 4096 bytes of the message": letterOf(wake, nats.Header{HeaderSize: {"4096"}}, []byte("abc")),
		"it does not say where the message was":                letterOf(Origin{Sequence: 1}, nil, nil),
		"its body is not a start request for carillon.action.ops.q.w": letterOf(
			Origin{Subject: names.Action("ops", "q", "w"), Stream: names.ActionStream()}, nil, []byte("{}")),
		"no pool takes messages on x.y from stream CARILLON_TASKS_2":                                   letterOf(Origin{Subject: "x.y", Stream: wake.Stream}, nil, nil),
		"no pool takes messages on carillon.task.2.generate.ops.tick=20tock.due from stream ELSEWHERE": letterOf(Origin{Subject: wake.Subject, Stream: "ELSEWHERE"}, nil, nil),
		"workers have no messages on carillon.task.2.generate.ops.tick=20tock.due":                     forged,
	} {
		m := s.message(names)
		_, err := planReplay(names, &m)
		assert.EqualError(t, err, "letter 7 cannot be replayed: "+want)
		assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	}
}

func TestWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       kind
		sequence   uint64
		messageID  string
		superseded bool
		want       string
	}{
		{kindWake, 5, "", true, ""},
		{kindEnqueue, 5, "", true, ""},
		{kindWake, 5, "mine", false, ""},
		{kindRequest, 5, "mine", false, ""},
		{kindWake, 4, "", false, "letter 7 was not replayed: the message is still in stream S; try again in a moment"},
		{kindRequest, 4, "mine", false, "letter 7 was not replayed: the message is still in stream S; try again in a moment"},
		{kindRequest, 5, "other", false, "letter 7 was not replayed: another run of its workflow ID is queued or running"},
		{kindCompletion, 5, "", false,
			"letter 7 was not replayed: another completion of the run waits to be processed; try again in a moment"},
	} {
		p := plan{meaning: meaning{kind: c.kind, stream: "S"}, sequence: 7, origin: Origin{Sequence: 4}, messageID: "mine"}
		superseded, err := p.judge(c.sequence, c.messageID)
		assert.Equal(t, c.superseded, superseded)
		if c.want == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, c.want)
		}
	}
}

// TestReplaySendsWhatWasReceived: whatever a task was, its replay has its subject, body and headers, and none of the
// letter's.
func TestReplaySendsWhatWasReceived(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := schedule.Key{Namespace: "ops", ID: rapid.StringN(1, 20, 60).Draw(t, "id")}
		shard := rapid.IntRange(0, 9).Draw(t, "shard")
		origin := Origin{
			Subject: rapid.SampledFrom([]string{
				names.Generate(shard, key, subjects.WhatDue), names.InvokeWake(shard, key), names.Callback(shard, key, "q", "r"),
			}).Draw(t, "subject"),
			Stream:   names.TaskStream(shard), // where completions were as well, once
			Sequence: rapid.Uint64Range(1, 1<<40).Draw(t, "sequence"),
		}
		own := nats.Header{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"traceparent", "Content-Type", "x"}), rapid.ID).Draw(t, "names") {
			own[name] = []string{rapid.StringMatching(`[a-z]{0,5}`).Draw(t, name)}
		}
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		m := letterOf(origin, own, body).message(names)
		p, err := planReplay(names, &m)
		require.NoError(t, err)
		require.Equal(t, &nats.Msg{Subject: origin.Subject, Header: own, Data: body}, p.msg)
		require.Equal(t, key, p.key)
	})
}
