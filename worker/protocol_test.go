package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// protocol returns docs/worker-protocol.md.
func protocol(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/worker-protocol.md")
	require.NoError(t, err)
	return string(text)
}

// block returns the code block of the document with the given label.
func block(t *testing.T, label string) string {
	t.Helper()
	_, rest, found := strings.Cut(protocol(t), "```"+label+"\n")
	require.True(t, found, label)
	text, _, _ := strings.Cut(rest, "```")
	return text
}

func TestProtocolExamplesFitTheCode(t *testing.T) {
	t.Parallel()
	for label, into := range map[string]any{
		"json request": &schedule.ActionRequest{}, "json completion": &schedule.Completion{}, "json control": &schedule.Control{},
		"json liveness": &schedule.Liveness{}, "json types": &schedule.ActionTypes{}, "json progress": &schedule.Progress{},
	} {
		decoder := json.NewDecoder(strings.NewReader(block(t, label)))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(into), label)
	}
}

func TestProtocolNamesEveryField(t *testing.T) {
	t.Parallel()
	text := protocol(t)
	for _, value := range []any{
		schedule.ActionRequest{}, schedule.Completion{}, schedule.Control{}, schedule.Liveness{}, schedule.ActionTypes{}, schedule.Progress{},
		schedule.Failure{}, schedule.RetryPolicy{},
	} {
		for i := range reflect.TypeOf(value).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(value).Field(i).Tag.Get("json"), ",")
			assert.Regexp(t, "[`\"]"+regexp.QuoteMeta(name)+"[`\"]", text, "%T", value)
		}
	}
}

func TestProtocolNamesFitTheCode(t *testing.T) {
	t.Parallel()
	names, text := subjects.Default(), protocol(t)
	for _, name := range []string{
		names.ActionStream(), names.ControlStream(), names.ProgressStream(), names.Action("default", "reports", "nightly"),
		names.Control("default", "reports", "nightly"), subjects.WorkerConsumerName("default", "reports"),
		names.Progress("default", "reports", "nightly"), names.ActionTypes("default", "reports"), names.WorkerDeadLetterStream(), names.WorkerDeadLetter("default", "reports"), names.Callback(2, key, "reports", "…")[:35],
	} {
		assert.Contains(t, text, "`"+name)
	}
	for plain, token := range map[string]string{"reports": "reports", "a.b c": "a=2Eb=20c", "ü": "=C3=BC"} {
		assert.Equal(t, token, subjects.Escape(plain))
		assert.Contains(t, text, "`"+token+"`")
	}
	assert.Contains(t, text, fmt.Sprintf("| acknowledgement wait | %d s |", subjects.ActionAckWait/time.Second))
}

// TestBareClientWorker plays a worker by docs/worker-protocol.md alone: plain NATS messages, and JSON without our types.
func TestBareClientWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.submit(b.request("1", "monthly_report", input(`{"month":"2026-02"}`)))
	bareWorkOnce(t, b.nc, b.names.Prefix(), "reports=20=26=20more")

	done, header := b.completionAndHeader()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.JSONEq(t, `{"rows":312}`, string(done.Result))
	assert.Equal(t, traceparent, header.Get("traceparent"))
	b.queueEmpty()
}

// bareWorkOnce takes one request from a queue, given escaped, and completes it.
func bareWorkOnce(t *testing.T, nc *nats.Conn, prefix, queue string) {
	t.Helper()
	actions, controls := strings.ToUpper(prefix)+"_ACTIONS", strings.ToUpper(prefix)+"_CONTROL"
	consumer := "worker_default_" + queue
	filter := prefix + ".action.default." + queue + ".>"
	request := func(subject, body string) *nats.Msg {
		reply, err := nc.Request(subject, []byte(body), limit)
		require.NoError(t, err, subject)
		return reply
	}

	created := request("$JS.API.CONSUMER.CREATE."+actions+"."+consumer+"."+filter, `{"stream_name":"`+actions+`","config":{
		"durable_name":"`+consumer+`","filter_subject":"`+filter+`","deliver_policy":"all","replay_policy":"instant",
		"ack_policy":"explicit","ack_wait":10000000000,"max_ack_pending":16384,"max_deliver":-1}}`)
	require.NotContains(t, string(created.Data), `"error"`)
	live, err := nc.SubscribeSync(prefix + ".control.default." + queue + ".>")
	require.NoError(t, err)
	defer func() { require.NoError(t, live.Unsubscribe()) }()

	msg := request("$JS.API.CONSUMER.MSG.NEXT."+actions+"."+consumer, `{"batch":1,"expires":10000000000}`)
	var run map[string]any
	require.NoError(t, json.Unmarshal(msg.Data, &run))
	control := request("$JS.API.DIRECT.GET."+controls+"."+strings.Replace(msg.Subject, ".action.", ".control.", 1), "")
	require.Equal(t, "404", control.Header.Get("Status"))

	ack := msg.Reply
	require.NoError(t, nc.Publish(ack, []byte("+WPI")))
	attempt, err := strconv.Atoi(strings.Split(ack, ".")[4])
	require.NoError(t, err)
	body, err := json.Marshal(map[string]any{
		"requestId": run["requestId"], "runId": run["runId"], "status": "completed", "result": map[string]int{"rows": 312},
		"attempt": attempt, "worker": "bare",
	})
	require.NoError(t, err)
	reply, err := nc.RequestMsg(&nats.Msg{Subject: run["callback"].(string), Data: body, Header: nats.Header{
		"Content-Type": {"application/json"},
		"traceparent":  {msg.Header.Get("traceparent")},
	}}, limit)
	require.NoError(t, err)
	require.Contains(t, string(reply.Data), `"seq":`)
	request(ack, "+ACK")
}

// TestPermissionsSuffice runs a worker that may do no more than the document says.
func TestPermissionsSuffice(t *testing.T) {
	t.Parallel()
	url := serverWithUsers(t, strings.Fields(block(t, "text publish")), strings.Fields(block(t, "text subscribe")))
	admin, js := natstest.Connect(t, strings.Replace(url, "//", "//admin:admin@", 1))
	names := subjects.Default()
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1, Replicas: 1})
	require.NoError(t, err)
	_, err = js.CreateConsumer(t.Context(), names.ActionStream(), names.WorkerConsumer(namespace, "reports"))
	require.NoError(t, err)

	nc, _ := natstest.Connect(t, strings.Replace(url, "//", "//worker:worker@", 1))
	violations := make(chan error, 100)
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err })
	w, err := worker.New(nc, worker.Config{TaskQueue: "reports", Logger: natstest.Logger(t)})
	require.NoError(t, err)
	(&service{Worker: w, t: t, done: make(chan error, 1)}).start()

	callback := names.Callback(0, key, "reports", "r")
	completions, err := admin.SubscribeSync(callback)
	require.NoError(t, err)
	worker.Handle(w, "a", func(ctx context.Context, _ string) (string, error) {
		answer, has, err := consistency.AskWorkers(ctx, admin, names, namespace, "reports", "run")
		assert.NoError(t, err)
		assert.True(t, has)
		assert.Equal(t, "run", answer.RunID)
		if run, _ := worker.FromContext(ctx); run.Attempt == 1 {
			_ = worker.Heartbeat(ctx, "here")
			return "", errors.New("not yet")
		}
		last, _, err := worker.LastHeartbeat[string](ctx)
		assert.Equal(t, "here", last)
		return "done", err
	})
	body, err := json.Marshal(schedule.ActionRequest{
		Namespace: namespace, WorkflowID: "wf", RunID: "run", RequestID: "r", Type: "a", TaskQueue: "reports", Callback: callback,
		RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 2, InitialInterval: schedule.Duration(time.Millisecond)},
	})
	require.NoError(t, err)
	for subject, data := range map[string]string{names.Action(namespace, "reports", "wf"): string(body), names.Action(namespace, "reports", "bad"): "bad"} {
		_, err := js.Publish(t.Context(), subject, []byte(data))
		require.NoError(t, err)
	}
	msg, err := completions.NextMsg(limit)
	require.NoError(t, err)
	assert.Contains(t, string(msg.Data), `"completed"`)
	natstest.Eventually(t, limit, "the dead letter is stored and the queue empty", func() bool {
		dead, err1 := js.Stream(t.Context(), names.WorkerDeadLetterStream())
		left, err2 := js.Stream(t.Context(), names.ActionStream())
		return err1 == nil && err2 == nil && dead.CachedInfo().State.Msgs == 1 && left.CachedInfo().State.Msgs == 0
	})
	assert.Empty(t, violations)
}

// serverWithUsers runs a server with two users, admin and worker, whose passwords are their names.
func serverWithUsers(t *testing.T, publish, subscribe []string) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Users: []*server.User{
			{Username: "admin", Password: "admin"},
			{Username: "worker", Password: "worker", Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: publish},
				Subscribe: &server.SubjectPermission{Allow: subscribe},
				Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute},
			}},
		},
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(limit))
	return s.ClientURL()
}
