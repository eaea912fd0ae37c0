package client_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// script is a frontend that answers as a test says: the n-th request with the n-th answer, further ones with the last.
// A nil answer is none.
type script struct {
	mu       sync.Mutex
	answers  []*nats.Msg
	requests []*nats.Msg
}

// play answers the requests of a verb until the end of the test.
func play(t *testing.T, names subjects.Names, verb string, answers ...*nats.Msg) *script {
	t.Helper()
	s := &script{answers: answers}
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	_, err := conn.Subscribe(names.API("*", subjects.ThingSchedule, verb), s.answer)
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	return s
}

func (s *script) answer(request *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.requests), len(s.answers)-1)
	s.requests = append(s.requests, request)
	if reply := s.answers[n]; reply != nil {
		_ = request.RespondMsg(&nats.Msg{Header: reply.Header, Data: reply.Data})
	}
}

func (s *script) received() []*nats.Msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func success(body string) *nats.Msg { return &nats.Msg{Data: []byte(body)} }

func failure(code schedule.Code, body string) *nats.Msg {
	return &nats.Msg{Data: []byte(body), Header: nats.Header{
		micro.ErrorCodeHeader: {string(code)}, micro.ErrorHeader: {"id: said in the header"},
	}}
}

var unavailable = failure(schedule.CodeUnavailable, `{"error":{"code":"unavailable","message":"later"}}`)

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	for name, call := range map[string]func() error{
		"delete":   func() error { return c.Delete(t.Context(), "x") },
		"describe": func() error { _, err := c.Describe(t.Context(), "x"); return err },
	} {
		err := call()
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable}, name)
		assert.ErrorContains(t, err, "is `carillon server` or `carillon frontend` running", name)
		assert.ErrorContains(t, err, "nats://127.0.0.1", name)
		assert.ErrorContains(t, err, names.Prefix(), name)
	}
}

func TestFrontendThatComesLateIsFound(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	ended := make(chan error, 1)
	go func() { ended <- c.Delete(t.Context(), "x") }()
	s := play(t, names, "delete", success(`{}`))
	require.NoError(t, <-ended)
	assert.Len(t, s.received(), 1)
}

func TestWhatMayBeRepeatedIsTriedAgain(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "create", unavailable, unavailable, success(`{"id":"x","unknown":1}`))
	d, err := c.Create(t.Context(), hourly("x"))
	require.NoError(t, err)
	assert.Equal(t, "x", d.ID)

	received := s.received()
	require.Len(t, received, 3)
	var first schedule.CreateRequest
	require.NoError(t, json.Unmarshal(received[0].Data, &first))
	assert.NotEmpty(t, first.RequestID)
	assert.Equal(t, received[0].Data, received[2].Data, "the attempts are one request")
}

func TestARequestIDOfTheCallerIsKept(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "trigger", success(`{}`))
	_, err := c.Trigger(t.Context(), schedule.TriggerRequest{ID: "x", RequestID: "mine"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"x","requestId":"mine"}`, string(s.received()[0].Data))
}

func TestAttemptsSayHowLongTheyWait(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "describe", unavailable, success(`{}`))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	_, err := c.Describe(ctx, "x")
	require.NoError(t, err)
	_, err = c.Describe(t.Context(), "x")
	require.NoError(t, err)
	var waits []time.Duration
	for _, request := range s.received() {
		wait, err := time.ParseDuration(request.Header.Get(schedule.HeaderTimeout))
		require.NoError(t, err)
		waits = append(waits, wait)
	}
	require.Len(t, waits, 3)
	assert.LessOrEqual(t, waits[0], 4*time.Second)
	assert.Less(t, waits[1], waits[0], "the second attempt has less time")
	assert.Greater(t, waits[2], 5*time.Second, "without a deadline it is longer than a frontend works on a request")
}

func TestRefusalsAreFinal(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "describe",
		failure(schedule.CodeNotFound, `{"error":{"code":"not_found","field":"id","message":"no such thing"}}`),
		failure(schedule.CodePermissionDenied, `no JSON`))
	_, err := c.Describe(t.Context(), "x")
	assert.Equal(t, &schedule.Error{Code: schedule.CodeNotFound, Field: "id", Message: "no such thing"}, err)
	assert.Len(t, s.received(), 1)

	_, err = c.Describe(t.Context(), "x")
	assert.Equal(t, &schedule.Error{Code: schedule.CodePermissionDenied, Message: "id: said in the header"}, err)
}

func TestGarbageIsAnInternalError(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	play(t, names, "describe", success(`garbage`))
	_, err := c.Describe(t.Context(), "x")
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInternal})
}

func TestTheContextEndsTheWait(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "describe", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Describe(ctx, "x")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
	assert.ErrorContains(t, err, "not known whether")
	assert.Len(t, s.received(), 1)

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.Describe(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheTimeoutOfTheClientEndsTheWait(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	play(t, names, "describe", nil)
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{Prefix: names.Prefix(), Timeout: 50 * time.Millisecond})
	require.NoError(t, err)
	_, err = c.Describe(context.Background(), "x")
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
}

func TestAClosedConnection(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{})
	require.NoError(t, err)
	conn.Close()
	_, err = c.Describe(t.Context(), "x")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
	assert.ErrorContains(t, err, "connection")
}

func TestTraceContextTravels(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "describe", success(`{}`))
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	_, err := c.Describe(telemetry.WithTraceparent(t.Context(), trace), "x")
	require.NoError(t, err)
	assert.Equal(t, trace, s.received()[0].Header.Get(telemetry.HeaderTraceparent))
}
