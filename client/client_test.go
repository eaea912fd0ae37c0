package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// serve runs a frontend until the end of the test, and returns a client of it.
func serve(t *testing.T) *client.Client {
	t.Helper()
	names := natstest.Names(t)
	conn, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	runFrontend(t, frontend.Config{Conn: conn, JS: js, Store: store, Names: names, Logger: natstest.Logger(t)})
	return connect(t, names)
}

func runFrontend(t *testing.T, config frontend.Config) {
	t.Helper()
	f, err := frontend.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	select {
	case <-f.Ready():
	case <-time.After(patience):
		t.Fatal("the frontend does not start")
	}
}

// connect returns a client with a connection of its own.
func connect(t *testing.T, names subjects.Names) *client.Client {
	t.Helper()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{Prefix: names.Prefix()})
	require.NoError(t, err)
	return c
}

func hourly(id string) schedule.CreateRequest {
	return schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}},
		Action: schedule.Action{Type: "http", TaskQueue: "q"},
	}}
}

func TestLifeOfASchedule(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx := t.Context()

	created, err := c.Create(ctx, hourly("nightly"))
	require.NoError(t, err)
	assert.Equal(t, c.Namespace(), created.Namespace)
	assert.Equal(t, hourly("nightly").Schedule, created.Schedule)

	require.NoError(t, c.Pause(ctx, "nightly", "holidays"))
	described, err := c.Describe(ctx, "nightly")
	require.NoError(t, err)
	assert.Equal(t, schedule.State{Paused: true, Notes: "holidays"}, described.State)
	require.NoError(t, c.Unpause(ctx, "nightly", ""))

	trigger, err := c.Trigger(ctx, schedule.TriggerRequest{ID: "nightly"})
	require.NoError(t, err)
	assert.NotEmpty(t, trigger.TriggerID)

	require.NoError(t, c.Delete(ctx, "nightly"))
	_, err = c.Describe(ctx, "nightly")
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
}

func TestErrorsAreThoseOfTheFrontend(t *testing.T) {
	t.Parallel()
	c := serve(t)
	req := hourly("nightly")
	req.Policies.Overlap = "alow_all"
	_, err := c.Create(t.Context(), req)
	var e *schedule.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, schedule.CodeInvalidArgument, e.Code)
	assert.Equal(t, "policies.overlap", e.Field)
	assert.Contains(t, e.Message, "allow_all")
}

func TestAllGoesThroughThePages(t *testing.T) {
	t.Parallel()
	c := serve(t)
	var want []string
	for i := range 105 { // more than one page
		id := fmt.Sprintf("s%03d", i)
		want = append(want, id)
		_, err := c.Create(t.Context(), hourly(id))
		require.NoError(t, err)
	}
	_, err := c.Create(t.Context(), hourly("other"))
	require.NoError(t, err)

	var ids []string
	for description, err := range c.All(t.Context(), "s") {
		require.NoError(t, err)
		ids = append(ids, description.ID)
	}
	assert.Equal(t, want, ids)

	for range c.All(t.Context(), "") {
		break // a caller may stop early
	}
	page, err := c.List(t.Context(), schedule.ListRequest{PageSize: 2, Prefix: "s"})
	require.NoError(t, err)
	assert.Len(t, page.Schedules, 2)
	assert.NotEmpty(t, page.NextPageToken)
}

func TestAllEndsWithAnError(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	count := 0
	for _, err := range c.All(ctx, "") {
		require.ErrorIs(t, err, context.Canceled)
		count++
	}
	assert.Equal(t, 1, count)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{})
	require.NoError(t, err)
	assert.Equal(t, client.DefaultNamespace, c.Namespace())
	for field, test := range map[string]struct {
		conn   *nats.Conn
		config client.Config
	}{
		"conn":      {nil, client.Config{}},
		"namespace": {conn, client.Config{Namespace: "No_Where"}},
		"prefix":    {conn, client.Config{Prefix: "No.Where"}},
		"timeout":   {conn, client.Config{Timeout: -1}},

		"maximumAttempts": {conn, client.Config{MaximumAttempts: -1}},
	} {
		_, err := client.New(test.conn, test.config)
		var e *schedule.Error
		require.ErrorAs(t, err, &e, field)
		assert.Equal(t, field, e.Field)
	}
}

func TestWithAnotherNamespace(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{Namespace: "one"})
	require.NoError(t, err)
	other, err := c.With("two", "ann")
	require.NoError(t, err)
	assert.Equal(t, "two", other.Namespace())
	assert.Equal(t, "one", c.Namespace())
	_, err = c.With("a.b", "ann")
	assert.ErrorIs(t, err, client.ErrInvalidArgument)
}
