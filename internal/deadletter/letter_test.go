package deadletter

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/codec"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

var (
	names = subjects.Default()
	tick  = schedule.Key{Namespace: "ops", ID: "tick tock"}
)

// letterOf returns a letter about a message as the stream returns it.
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
	s.subject = names.DeadLetter(subjects.PoolGenerator)
	want := Message{
		Letter: Letter{
			Number: Number{Sequence: 7}, Sequence: 7, Time: s.time, Pool: "generator", Reason: "no good", Deliveries: 10, Namespace: "ops", ScheduleID: "tick tock",
			Origin: origin, Size: 4,
		},
		Headers: map[string][]string{"traceparent": {"00-trace"}}, Body: Body{Format: FormatText, Text: "body"}, Data: []byte("body"),
		about: meaning{kind: kindWake, key: tick, stream: names.TaskStream(2)},
	}
	assert.Equal(t, want, s.message(names))

	s.header.Set(HeaderSize, "4096")
	want.Size, want.Cut = 4096, true
	assert.Equal(t, want, s.message(names))

	silent := stored{worker: true, sequence: 8, subject: names.WorkerDeadLetter("ops", "a queue"), data: []byte{0xff}}
	assert.Equal(t, Message{
		Letter:  Letter{Number: Number{8, true}, Sequence: 8, Pool: "worker", Namespace: "ops", TaskQueue: "a queue", Size: 1},
		Headers: map[string][]string{}, Body: Body{Format: FormatBase64, Text: "/w=="}, Data: []byte{0xff},
	}, silent.message(names))
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	ticking := offer.Queue{Namespace: "ops", Kind: offer.Activity, Name: "a queue"}
	request := requestOf("w 1")
	stream := names.TaskStream(2)
	known := map[subjects.Role]bool{}
	for subject, want := range map[string]meaning{
		names.Generate(2, tick, subjects.WhatGuard):               {kind: kindWake, key: tick, stream: stream},
		names.InvokeWake(2, tick):                                 {kind: kindWake, key: tick, stream: stream},
		names.Backfill(2, tick, "b"):                              {kind: kindWake, key: tick, stream: stream},
		names.InvokeEnd(2, tick, schedule.ControlCancel, "r1"):    {kind: kindEnd, key: tick, stream: stream},
		names.InvokeEnqueue(2, tick, "auto", wire.Span{}):         {kind: kindEnqueue, key: tick, stream: stream},
		names.Callback(2, tick, "q", "r"):                         {kind: kindCompletion, key: tick, stream: names.CallbackStream(2), former: stream, requestID: "r"},
		names.Timeout(2, tick, "r"):                               {kind: kindCompletion, key: tick, stream: stream, requestID: "r"},
		names.ExecutionDue(2, tick):                               {kind: kindDue, key: tick, stream: stream},
		names.Action(tick.Namespace, "a queue", "w 1"):            {kind: kindRequest, key: tick, stream: names.ActionStream(), requestID: "r-w 1"},
		names.ExecutionRedo(2, tick, 17):                          {kind: kindDue, key: tick, stream: stream},
		names.Journal(2, tick):                                    {kind: kindEntry, key: tick, stream: names.JournalStream(2)},
		names.Backlog(ticking):                                    {kind: kindTask, key: schedule.Key{Namespace: "ops"}, stream: names.BacklogStream()},
		names.BacklogAt(ticking, 1):                               {kind: kindTask, key: schedule.Key{Namespace: "ops"}, stream: names.BacklogStream()},
		names.BacklogHint(ticking):                                {},
		names.Action(tick.Namespace, "another", "w 1"):            {},
		names.DueTimer(2, tick):                                   {},
		names.Generate(2, tick, subjects.WhatGuard) + ".too.long": {},
		"": {},
	} {
		assert.Equal(t, want, meaningOf(names, subject, []byte(jsonOf(request))), subject)
		if task, err := names.ParseTask(subject); err == nil {
			known[task.Role] = want.kind != kindUnknown
		}
	}
	for _, role := range subjects.Roles() {
		assert.True(t, known[role], "letters about tasks of role %s say nothing", role)
	}
	assert.Equal(t, meaning{}, meaningOf(names, names.Action(tick.Namespace, "a queue", "w 1"), []byte("garbage")))
	task, err := offer.Task{Namespace: "ops", WorkflowID: "tick tock", RunID: "r"}.Marshal()
	require.NoError(t, err)
	assert.Equal(t, meaning{kind: kindTask, key: tick, stream: names.BacklogStream()}, meaningOf(names, names.Backlog(ticking), task))
}

// TestLettersAboutWorkflows: only history writes them. The work of an entry is asked for by another message than the entry.
func TestLettersAboutWorkflows(t *testing.T) {
	t.Parallel()
	s := letterOf(Origin{Subject: names.Journal(2, tick), Stream: names.JournalStream(2), Sequence: 17}, nats.Header{}, []byte("half an entry"))
	s.header.Set(HeaderSize, "4096")
	s.subject = names.DeadLetter(subjects.PoolHistory)
	m := s.message(names)
	assert.Equal(t, [2]string{"", tick.ID}, [2]string{m.ScheduleID, m.WorkflowID})
	p, err := planReplay(names, &m)
	require.NoError(t, err)
	assert.Equal(t, names.ExecutionRedo(2, tick, 17), p.msg.Subject)
	assert.Equal(t, names.TaskStream(2), p.stream)
	assert.Empty(t, p.msg.Data)
	s.subject = names.DeadLetter(subjects.PoolInvoker)
	assert.True(t, s.letter(names).Foreign)
}

func TestBodies(t *testing.T) {
	t.Parallel()
	wake, err := codec.Marshal(&wire.Wake{Version: 3, Reason: wire.ReasonDue})
	require.NoError(t, err)
	enqueue, err := codec.Marshal(&wire.Enqueue{Source: "auto", Missed: 2})
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
	action := Origin{Subject: names.Action("ops", "q", "w"), Stream: names.ActionStream()}
	request := []byte(`{"namespace":"ops","taskQueue":"q","workflowId":"w","requestId":"r","scheduleId":"tick tock"}`)
	elsewhere := func(callback string) []byte {
		return bytes.Replace(request, []byte("{"), []byte(`{"callback":"`+callback+`",`), 1)
	}
	of := func(subject string, s *stored) *stored {
		s.subject, s.worker = subject, strings.Contains(subject, ".worker")
		return s
	}
	generator, mine, shared := names.DeadLetter(subjects.PoolGenerator), names.WorkerDeadLetter("ops", "q"), names.SharedWorkerDeadLetter()
	for _, c := range []struct {
		want string
		s    *stored
	}{
		{"7 cannot be replayed: it has only the first 3 of 4096 bytes of the message",
			of(generator, letterOf(wake, nats.Header{HeaderSize: {"4096"}}, []byte("abc")))},
		{"7 cannot be replayed: it does not say where the message was", letterOf(Origin{Sequence: 1}, nil, nil)},
		{"7 cannot be replayed: no pool takes messages on x.y from stream CARILLON_TASKS_2",
			letterOf(Origin{Subject: "x.y", Stream: wake.Stream}, nil, nil)},
		{"7 cannot be replayed: no pool takes messages on carillon.task.2.generate.ops.tick=20tock.due from stream ELSEWHERE",
			of(generator, letterOf(Origin{Subject: wake.Subject, Stream: "ELSEWHERE"}, nil, nil))},
		{"7 cannot be replayed: the invoker has no messages on carillon.task.2.generate.ops.tick=20tock.due", letterOf(wake, nil, nil)},
		{"7 cannot be replayed: the invoker has no messages on carillon.action.ops.q.w", letterOf(action, nil, request)},

		{"7 cannot be replayed: the invoker has no messages on carillon.callback.2.ops.q.tick=20tock.r",
			of(completionLetter("other"), letterOf(Origin{Subject: names.Callback(2, tick, "q", "r"), Stream: names.CallbackStream(2)}, nil, nil))},
		{"w7 cannot be replayed: it does not say where the message was", of(mine, letterOf(Origin{Sequence: 1}, nil, nil))},
		{"w7 cannot be replayed: its body is not a start request for carillon.action.ops.q.w", of(mine, letterOf(action, nil, []byte("{}")))},
		{"w7 cannot be replayed: its body is not a start request for carillon.action.ops.q.w",
			of(mine, letterOf(action, nil, elsewhere(names.Callback(0, tick, "other", "r"))))},
		{"w7 cannot be replayed: its body is not a start request for carillon.action.ops.q.w",
			of(mine, letterOf(action, nil, elsewhere("carillon.api.ops.schedule.delete")))},
		{`w7 cannot be replayed: a worker of task queue "q" in namespace ops has no messages on carillon.task.2.generate.ops.tick=20tock.due`,
			of(mine, letterOf(wake, nil, nil))},
		{`w7 cannot be replayed: a worker of task queue "other" in namespace ops has no messages on carillon.action.ops.q.w`,
			of(names.WorkerDeadLetter("ops", "other"), letterOf(action, nil, request))},
		{`w7 cannot be replayed: a worker of task queue "q" in namespace other has no messages on carillon.action.ops.q.w`,
			of(names.WorkerDeadLetter("other", "q"), letterOf(action, nil, request))},
		{"w7 cannot be replayed: no pool takes messages on carillon.action.ops.q.w from stream KV_carillon-cluster",
			of(mine, letterOf(Origin{Subject: action.Subject, Stream: "KV_carillon-cluster"}, nil, request))},
		{"w7 cannot be replayed: a worker has no messages on carillon.task.2.generate.ops.tick=20tock.due",
			of(shared, letterOf(wake, nil, nil))},
	} {
		m := c.s.message(names)
		_, err := planReplay(names, &m)
		assert.EqualError(t, err, "letter "+c.want)
		assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	}

	m := of(mine, letterOf(action, nil, elsewhere(names.Callback(0, tick, "q", "r")))).message(names)
	p, err := planReplay(names, &m)
	require.NoError(t, err)
	assert.Equal(t, action.Subject, p.msg.Subject)
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
		p := plan{meaning: meaning{kind: c.kind, stream: "S"}, number: Number{Sequence: 7}, origin: Origin{Sequence: 4}, messageID: "mine"}
		superseded, err := p.judge(c.sequence, c.messageID)
		assert.Equal(t, c.superseded, superseded)
		if c.want == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, c.want)
		}
	}
}

// TestReplaySendsWhatWasReceived: a replay of any task has its subject, body and headers, and none of the letter's.
func TestReplaySendsWhatWasReceived(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := schedule.Key{Namespace: "ops", ID: rapid.StringN(1, 20, 60).Draw(t, "id")}
		shard := rapid.IntRange(0, 9).Draw(t, "shard")
		origin := Origin{
			Subject: rapid.SampledFrom([]string{
				names.Generate(shard, key, subjects.WhatDue), names.InvokeWake(shard, key), names.Callback(shard, key, "q", "r"),
			}).Draw(t, "subject"),
			Stream:   names.TaskStream(shard), // where completions were once, too
			Sequence: rapid.Uint64Range(1, 1<<40).Draw(t, "sequence"),
		}
		own := nats.Header{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"traceparent", "Content-Type", "x"}), rapid.ID).Draw(t, "names") {
			own[name] = []string{rapid.StringMatching(`[a-z]{0,5}`).Draw(t, name)}
		}
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		letter := letterOf(origin, own, body)
		if task, err := names.ParseTask(origin.Subject); err == nil && task.Role == subjects.RoleGenerate {
			letter.subject = names.DeadLetter(subjects.PoolGenerator)
		}
		m := letter.message(names)
		p, err := planReplay(names, &m)
		require.NoError(t, err)
		require.Equal(t, &nats.Msg{Subject: origin.Subject, Header: own, Data: body}, p.msg)
		require.Equal(t, key, p.key)
	})
}

// hostile draws what a worker might write in place of a subject, or of a part of one.
func hostile(t *rapid.T, label string) string {
	request := requestOf("w 1")
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", ">", "*", ".", "ops", "other", "a queue", "a=20queue", "q", "w 1", names.Action("ops", "a queue", "w 1"),
			names.Action("other", "a queue", "w 1"), names.Action("ops", "q", "w 1"), names.Action("ops", "a queue", "w 1") + ".x",
			names.Generate(2, tick, "due"), names.InvokeWake(2, tick), names.Callback(2, tick, "a queue", request.RequestID),
			names.Control("ops", "a queue", "w 1"), names.API("ops", "schedule", "delete"), "$JS.API.STREAM.DELETE.CARILLON_EVENTS",
			"$KV.carillon-cluster.cluster", names.WorkerDeadLetter("ops", "a queue"), names.ActionAnchor(), names.PulseTimer(0),
		}),
		rapid.String(),
	).Draw(t, label)
}

// TestAWorkersLetterStaysWithinItsQueue: whatever the letter says, a replay sends nothing anywhere else, and nothing with a
// header that means something to NATS. No part of the letter is taken for a message about another namespace.
func TestAWorkersLetterStaysWithinItsQueue(t *testing.T) {
	t.Parallel()
	sent := 0
	rapid.Check(t, func(t *rapid.T) {
		fields := map[string]string{
			"namespace": "ops", "scheduleId": tick.ID, "workflowId": "w 1", "requestId": "r-w 1", "taskQueue": "a queue",
			"callback": names.Callback(2, tick, "a queue", "r-w 1"),
		}
		origin := Origin{Subject: names.Action("ops", "a queue", "w 1"), Stream: names.ActionStream(), Sequence: 7}
		for _, field := range rapid.SliceOfN(rapid.SampledFrom([]string{
			"namespace", "scheduleId", "workflowId", "requestId", "taskQueue", "callback", "subject", "stream", "nothing",
		}), 0, 3).Draw(t, "forged") {
			switch field {
			case "subject":
				origin.Subject = hostile(t, field)
			case "stream":
				origin.Stream = rapid.SampledFrom([]string{names.TaskStream(2), names.EventStream(), "", "KV_carillon-cluster"}).Draw(t, field)
			case "nothing":
			default:
				fields[field] = hostile(t, field)
			}
		}
		if rapid.Bool().Draw(t, "all of another") { // a request that would be valid in a letter of the other queue
			fields["namespace"] = rapid.SampledFrom([]string{"ops", "other"}).Draw(t, "of namespace")
			fields["taskQueue"] = rapid.SampledFrom([]string{"a queue", "q"}).Draw(t, "of queue")
			fields["callback"] = ""
			origin.Subject = names.Action(fields["namespace"], fields["taskQueue"], fields["workflowId"])
		}
		header := nats.Header{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{
			"Nats-Rollup", "nats-rollup", "NATS-MSG-ID", "Nats-Schedule", "Nats-Schedule-Target", "nAtS-Scheduler", "Nats-TTL",
			"Nats-Expected-Last-Sequence", "traceparent", "carillon-origin-subject", HeaderReason, HeaderDeliveries,
		}), 0, 6).Draw(t, "headers") {
			header[name] = []string{hostile(t, name)}
		}
		s := letterOf(origin, header, []byte(jsonOf(fields)))
		s.worker, s.subject = true, names.WorkerDeadLetter("ops", "a queue")
		m := s.message(names)
		require.Equal(t, "ops", m.Namespace)
		require.Equal(t, "a queue", m.TaskQueue)
		require.LessOrEqual(t, len(m.Reason), maxReason)
		p, err := planReplay(names, &m)
		if err != nil {
			return
		}
		sent++
		namespace, queue, _, err := names.ParseAction(p.msg.Subject)
		require.NoError(t, err)
		require.Equal(t, "ops", namespace)
		require.Equal(t, "a queue", queue)
		require.Equal(t, names.ActionStream(), p.stream)
		require.Equal(t, "ops", p.key.Namespace)
		for name := range p.msg.Header {
			require.NotContains(t, strings.ToLower(name), "nats-")
		}
		if fields["callback"] != "" {
			task, err := names.ParseTask(fields["callback"])
			require.NoError(t, err)
			require.Equal(t, "ops", task.Key.Namespace)
			require.Equal(t, "a queue", task.Queue)
		}
	})
	require.Positive(t, sent, "some are sent")
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Number{"1": {Sequence: 1}, "w17": {17, true}, "18446744073709551615": {Sequence: math.MaxUint64}} {
		have, err := ParseNumber(text)
		require.NoError(t, err)
		assert.Equal(t, want, have)
		assert.Equal(t, text, have.String())
		var back Number
		require.NoError(t, json.Unmarshal([]byte(jsonOf(have)), &back))
		assert.Equal(t, want, back)
	}
	for _, text := range []string{"", "0", "w", "w0", "-1", "W1", "ww1", "1w", "1.5", "18446744073709551616"} {
		_, err := ParseNumber(text)
		assert.EqualError(t, err, strconv.Quote(text)+" is not the number of a dead letter")
	}
}

// completionLetter is the subject of a letter about a completion of a task queue of tick's namespace.
func completionLetter(queue string) string {
	subject, _ := names.CompletionDeadLetter(names.Callback(2, tick, queue, "r"), 0)
	return subject
}
