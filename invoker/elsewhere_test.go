package invoker_test

import (
	"context"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// fasterElsewhere is the bus of a process that is about to start a run when another does. The run is over as soon as this one
// has seen it in the queue.
type fasterElsewhere struct {
	bus.Bus
	action    string // the subject of the run
	published sync.Once
	publish   func()
	ended     sync.Once
	end       func()
}

func (b *fasterElsewhere) PublishOnce(ctx context.Context, msg *nats.Msg) (repeated bool, err error) {
	if msg.Subject == b.action {
		b.published.Do(b.publish)
	}
	return b.Bus.PublishOnce(ctx, msg)
}

func (b *fasterElsewhere) Last(ctx context.Context, stream, subject string) (bus.Message, error) {
	message, err := b.Bus.Last(ctx, stream, subject)
	if subject == b.action && err == nil {
		b.ended.Do(b.end)
	}
	return message, err
}

// TestStartedElsewhereAndOver: who finds the own run in the way of the own start has started it, whatever has become of it since.
func TestStartedElsewhereAndOver(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	e := s.handOff("", 1)
	start := e.Starts[0]
	faster := &fasterElsewhere{
		Bus: s.bus(), action: s.names.Action("default", "q", start.WorkflowID),
		publish: func() { s.publishedBefore(start) },
		end:     func() { s.finish(s.take(), schedule.StatusCompleted, "") },
	}
	invokers := s.newPool(func(c *invoker.Config) { c.Bus = faster })
	s.handle(invokers, invoker.Message{Enqueue: &e})
	require.Equal(t, schedule.PhaseStarted, s.phase(1))
	require.Equal(t, []schedule.EventKind{schedule.EventStarted}, s.events(), "it is not tried again")
}
