package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestErrorsHaveNames(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	named := map[schedule.Code]error{
		schedule.CodeInvalidArgument: client.ErrInvalidArgument, schedule.CodeNotFound: client.ErrNotFound,
		schedule.CodeAlreadyExists: client.ErrAlreadyExists, schedule.CodeFailedPrecondition: client.ErrFailedPrecondition,
		schedule.CodeResourceExhausted: client.ErrResourceExhausted, schedule.CodeUnavailable: client.ErrUnavailable,
		schedule.CodePermissionDenied: client.ErrPermissionDenied, schedule.CodeInternal: client.ErrInternal,
	}
	var answers []*nats.Msg
	var codes []schedule.Code
	for code := range named {
		codes = append(codes, code)
		answers = append(answers, failure(code, `{"error":{"code":"`+string(code)+`","field":"f","message":"m"}}`))
	}
	c := patient(t, client.Config{Prefix: names.Prefix(), MaximumAttempts: 1})
	play(t, names, "delete", answers...)
	for _, code := range codes {
		err := c.Delete(t.Context(), "x")
		for other, target := range named {
			assert.Equal(t, other == code, errors.Is(err, target), "%s is %s", code, other)
		}
		var detailed *schedule.Error
		require.ErrorAs(t, err, &detailed)
		assert.Equal(t, &schedule.Error{Code: code, Field: "f", Message: "m"}, detailed)
	}
}

// patient returns a client with a timeout of its own.
func patient(t *testing.T, config client.Config) *client.Client {
	t.Helper()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, config)
	require.NoError(t, err)
	return c
}

func TestARefusalSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	busy := func(after string) *nats.Msg {
		return failure(schedule.CodeResourceExhausted,
			`{"error":{"code":"resource_exhausted","message":"too fast","retryAfter":"`+after+`"}}`)
	}
	s := play(t, names, "delete", busy("300ms"), success(`{}`), busy("1h"))
	began := time.Now()
	require.NoError(t, c.Delete(t.Context(), "x"), "a refusal is no reason to fear a repeat")
	assert.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	assert.Len(t, s.received(), 2)

	err := c.Delete(t.Context(), "x")
	require.ErrorIs(t, err, client.ErrResourceExhausted, "there is no time to wait for an hour")
	var refused *schedule.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, time.Hour, refused.RetryAfter.Std())
	assert.Len(t, s.received(), 3)
}

func TestMaximumAttempts(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	s := play(t, names, "describe", unavailable)
	for attempts, want := range map[int]int{1: 1, 2: 2, 0: client.DefaultMaximumAttempts} {
		before := len(s.received())
		_, err := patient(t, client.Config{Prefix: names.Prefix(), MaximumAttempts: attempts}).Describe(t.Context(), "x")
		require.ErrorIs(t, err, client.ErrUnavailable)
		assert.Len(t, s.received()[before:], want)
	}
}
