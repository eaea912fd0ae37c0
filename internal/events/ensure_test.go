package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// counting counts the messages that are published together.
type counting struct {
	bus.Bus
	published int
}

func (c *counting) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	c.published += len(msgs)
	return c.Bus.PublishAll(ctx, msgs)
}

// TestEnsureSendsNothingAgain that the stream has as the last one of its kind, once the stream may not tell a repeat by its ID.
func TestEnsureSendsNothingAgain(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	counted := &counting{Bus: natstest.Bus(t, h.js)}
	publisher := events.NewPublisher(counted, h.names, nil)
	created, paused := event("s", 1, schedule.EventCreated), event("s", 2, schedule.EventPaused)
	soon, late := created.Time.Add(subjects.DuplicateWindow/4), created.Time.Add(subjects.DuplicateWindow)
	for _, step := range []struct {
		now  time.Time
		sent int
		why  string
	}{
		{late, 2, "neither is there"},
		{soon, 4, "the stream itself tells a repeat"},
		{late, 4, "both are there"},
	} {
		require.NoError(t, publisher.Ensure(t.Context(), step.now, created, paused))
		require.Equal(t, step.sent, counted.published, step.why)
	}
	h.tell(event("s", 3, schedule.EventPaused))
	require.NoError(t, publisher.Ensure(t.Context(), late, created, paused))
	require.Equal(t, 5, counted.published, "of a kind the last one alone is known")
}
