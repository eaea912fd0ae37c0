package client_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// happen publishes events as the pools do.
func happen(t *testing.T, conn *nats.Conn, names subjects.Names, events ...schedule.Event) {
	t.Helper()
	for _, event := range events {
		event.Namespace = client.DefaultNamespace
		key := schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}
		data, err := apitext.EncodeJSON(event)
		require.NoError(t, err)
		require.NoError(t, conn.Publish(names.Event(key, event.Kind), data))
	}
	require.NoError(t, conn.Flush())
}

func paused(id, scheduleID string) schedule.Event {
	return schedule.Event{ID: id, ScheduleID: scheduleID, Kind: schedule.EventPaused}
}

// take reads so many events.
func take(t *testing.T, events iter.Seq2[schedule.Event, error], n int) (ids []string) {
	t.Helper()
	for event, err := range events {
		require.NoError(t, err)
		if ids = append(ids, event.ID); len(ids) == n {
			break
		}
	}
	return ids
}

func TestWatch(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c := connect(t, names)
	one, err := c.Watch(t.Context(), "x y")
	require.NoError(t, err)
	all, err := c.Watch(t.Context(), "")
	require.NoError(t, err)

	happen(t, conn, names, paused("1", "x y"), paused("2", "other"), paused("1", "x y"))
	require.NoError(t, conn.Publish(names.Event(schedule.Key{Namespace: client.DefaultNamespace, ID: "x y"}, "later"), []byte("{")))
	happen(t, conn, names, paused("3", "x y"), paused("", "x y"), paused("", "x y"))
	assert.Equal(t, []string{"1", "3", "", ""}, take(t, one, 4), "repeats and what is no event do not come")
	assert.Equal(t, []string{"1", "2", "3"}, take(t, all, 3))
}

func TestWatchEndsWithTheContext(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	ctx, cancel := context.WithCancel(t.Context())
	events, err := c.Watch(ctx, "x")
	require.NoError(t, err)
	cancel()
	for _, err := range events {
		require.Fail(t, "something came", "%v", err)
	}
	_, err = c.Watch(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

// TestWatchThatNobodyReads makes sure that the end of the context is enough to end the subscription.
func TestWatchThatNobodyReads(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{Prefix: natstest.Names(t).Prefix()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = c.Watch(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, 1, conn.NumSubscriptions())
	cancel()
	natstest.Eventually(t, patience, "the subscription is gone", func() bool { return conn.NumSubscriptions() == 0 })
}

func TestWatchOfASlowReader(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	reader, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(reader, client.Config{Prefix: names.Prefix()})
	require.NoError(t, err)
	events, err := c.Watch(t.Context(), "x")
	require.NoError(t, err)
	happen(t, conn, names, paused("first", "x"))
	var ended error
	for event, err := range events {
		if event.ID == "first" { // the reader is busy with it while more come than it has room for
			many := make([]schedule.Event, 70_000)
			for i := range many {
				many[i] = paused(fmt.Sprint(i), "x")
			}
			happen(t, conn, names, many...)
			require.Eventually(t, func() bool { return reader.Stats().InMsgs > uint64(len(many)) }, natstest.Patience, time.Millisecond)
		}
		ended = err
	}
	require.ErrorIs(t, ended, &schedule.Error{Code: schedule.CodeUnavailable})
	assert.ErrorContains(t, ended, "faster than they were read")
}

func TestWatchOverAClosedConnection(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	c, err := client.New(conn, client.Config{Prefix: natstest.Names(t).Prefix()})
	require.NoError(t, err)
	events, err := c.Watch(t.Context(), "x")
	require.NoError(t, err)
	conn.Close()
	var ended error
	for _, err := range events {
		ended = err
	}
	require.ErrorIs(t, ended, &schedule.Error{Code: schedule.CodeUnavailable})
	assert.ErrorContains(t, ended, "the connection is closed")

	_, err = c.Watch(t.Context(), "x")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
}
