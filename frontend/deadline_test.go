package frontend_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func (in *installation) within(limit, verb, body string) error {
	in.t.Helper()
	_, err := decode[json.RawMessage](in.send(verb, nats.Header{schedule.HeaderTimeout: {limit}}, []byte(body)))
	return err
}

func TestNoWorkBeyondTheTimeOfTheCaller(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	in := installed(t, holdBack(let), func(c *frontend.Config) { c.RequestTimeout, c.GuardDelay = time.Hour, 2*time.Hour })
	for limit, message := range map[string]string{
		"50ms": "the 50ms that the request had, by its header Carillon-Timeout, were over before NATS had answered",
		"0s":   "the 0s that the request had, by its header Carillon-Timeout, were over before any work on it: nothing has been done",
		"-1h":  "nothing has been done",
	} {
		err := in.within(limit, "create", createBody("x", ""))
		assert.Equal(t, schedule.CodeUnavailable, schedule.CodeOf(err), limit)
		assert.ErrorContains(t, err, message, limit)
	}
	close(let)
	assert.ErrorContains(t, in.within("1m", "describe", `{"id":"x"}`), "has no schedule", "nothing was written afterwards")
	require.NoError(t, in.within("1m", "create", createBody("x", "")))
}

// A request whose turn does not come in time is not begun.
func TestTimeOfTheCallerCountsInTheBacklog(t *testing.T) {
	t.Parallel()
	let, begun := make(chan struct{}), make(chan struct{}, 1)
	in := installed(t, func(c *frontend.Config) { c.Concurrency = 1 }, hook(func(ctx context.Context, _ *nats.Msg) error {
		select {
		case begun <- struct{}{}:
		default:
		}
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	require.NoError(t, in.conn.PublishRequest(
		in.names.API("default", subjects.ThingSchedule, "create"), in.conn.NewInbox(), []byte(createBody("first", ""))))
	<-begun
	err := in.within("50ms", "create", createBody("second", ""))
	assert.Equal(t, schedule.CodeUnavailable, schedule.CodeOf(err))
	assert.ErrorContains(t, err, "nothing has been done")
	close(let)
	natstest.Eventually(t, patience, "the first is created", func() bool {
		return in.within("1m", "describe", `{"id":"first"}`) == nil
	})
	assert.ErrorContains(t, in.within("1m", "describe", `{"id":"second"}`), "has no schedule")
}

func TestTimeOfTheCallerIsBounded(t *testing.T) {
	t.Parallel()
	in := installed(t, holdBack(nil), func(c *frontend.Config) { c.RequestTimeout = 50 * time.Millisecond })
	for _, limit := range []string{"", "1h"} {
		assert.ErrorContains(t, in.within(limit, "create", createBody("x", "")), "NATS did not answer as it should")
	}
	err := in.within("soon", "list", "{}")
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	assert.ErrorContains(t, err, `the header Carillon-Timeout is "soon", which is not a duration`)
}
