package builtin

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/worker"
)

func natsSetup(t *testing.T) (*natsAction, *nats.Conn) {
	t.Helper()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	return &natsAction{conn: conn, prefix: "carillon"}, conn
}

func TestNATSPublishes(t *testing.T) {
	t.Parallel()
	action, conn := natsSetup(t)
	sub, err := conn.SubscribeSync("builtin.publish.>")
	require.NoError(t, err)
	result, err := action.handle(t.Context(), sample("nats",
		`{"subject":"builtin.publish.{{nominalDate}}.{{scheduleId}}","headers":{"day":"{{nominalDate}}"},"body":{"id":"{{scheduleId}}"}}`))
	require.NoError(t, err)
	require.Nil(t, result)
	msg, err := sub.NextMsgWithContext(t.Context())
	require.NoError(t, err)
	assert.Equal(t, `builtin.publish.2026-03-01.a_"b"`, msg.Subject)
	assert.JSONEq(t, `{"id":"a \"b\""}`, string(msg.Data))
	assert.Equal(t, "2026-03-01", msg.Header.Get("day"))
	assert.Equal(t, "application/json", msg.Header.Get("Content-Type"))
}

func TestNATSRequests(t *testing.T) {
	t.Parallel()
	action, conn := natsSetup(t)
	_, err := conn.Subscribe("builtin.request", func(msg *nats.Msg) { _ = msg.Respond(append([]byte("got "), msg.Data...)) })
	require.NoError(t, err)
	result, err := action.handle(t.Context(), sample("nats", `{"subject":"builtin.request","mode":"request","body":"x"}`))
	require.NoError(t, err)
	assert.Equal(t, "got x", result)

	_, err = action.handle(t.Context(), sample("nats", `{"subject":"builtin.nobody","mode":"request"}`))
	require.ErrorIs(t, err, nats.ErrNoResponders)
	_, err = conn.Subscribe("builtin.silent", func(*nats.Msg) {})
	require.NoError(t, err)
	_, err = action.handle(t.Context(), sample("nats", `{"subject":"builtin.silent","mode":"request","timeout":"20ms"}`))
	var typed *worker.Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, TypeNATS, typed.Type)
	assert.False(t, typed.NonRetryable)
	assert.ErrorContains(t, err, "no answer within 20ms")
}

// TestNATSStores: a repeat of a run is stored once.
func TestNATSStores(t *testing.T) {
	t.Parallel()
	action, conn := natsSetup(t)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	name := natstest.Names(t).Prefix() // for every run of the test another
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".stream"}})
	require.NoError(t, err)
	for _, duplicate := range []bool{false, true} {
		result, err := action.handle(t.Context(), sample("nats", `{"subject":"`+name+`.stream","mode":"stream","body":"x"}`))
		require.NoError(t, err)
		require.Equal(t, NATSStored{Stream: name, Sequence: 1, Duplicate: duplicate}, result)
	}
	_, err = action.handle(t.Context(), sample("nats", `{"subject":"builtin.no.stream","mode":"stream"}`))
	require.Error(t, err)
}

func TestNATSRefusesInputs(t *testing.T) {
	t.Parallel()
	action, _ := natsSetup(t)
	for input, want := range map[string]string{
		`{}`:                                               "subject",
		`{"subject":"a..b"}`:                               "subject",
		`{"subject":"a.*"}`:                                "subject",
		`{"subject":"a.>"}`:                                "subject",
		`{"subject":"a b"}`:                                "subject",
		`{"subject":"carillon.callback.0.x"}`:              "reserved",
		`{"subject":"carillon"}`:                           "reserved",
		`{"subject":"$JS.API.STREAM.DELETE.X"}`:            "reserved",
		`{"subject":"$KV.carillon-state-0.x"}`:             "reserved",
		`{"subject":"_INBOX.x"}`:                           "reserved",
		`{"subject":"a","mode":"shout"}`:                   "publish, request or stream",
		`{"subject":"a","timeout":"-1s"}`:                  "timeout",
		`{"subject":"a","headers":{"Nats-Msg-Id":"1"}}`:    "headers",
		`{"subject":"a","headers":{"x":"a\r\nNats-X: b"}}`: "headers",
		`{"subject":"{{x}}"}`:                              "placeholder",
	} {
		_, err := action.handle(t.Context(), sample("nats", input))
		requireInvalid(t, err, want)
	}
}
