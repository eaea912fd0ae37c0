package generator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// TestLetsGoWithoutAcknowledging: after an election two processes may hold the same message. Who finds that the other has done
// what was due must not take it away from the stream: the other would be the only one to know of the next time.
func TestLetsGoWithoutAcknowledging(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("beat", seconds(1)).Value
	now := d.CreateTime
	clock := func(c *Config) { c.Now = func() time.Time { return now } }
	one, other := b.pool(clock), b.pool(clock)
	message := loop.Message[wire.Wake]{Body: wire.Wake{Incarnation: d.Incarnation, Version: 1, Reason: wire.ReasonDue}}
	handle := func(p *Pool) loop.Verdict {
		return p.Handle(t.Context(), d.Key(), []loop.Message[wire.Wake]{message})
	}
	require.True(t, handle(one).IsHold())
	require.True(t, handle(other).IsHold())
	message.Held = true
	state, _ := b.state("beat")
	now = state.Next.Add(time.Millisecond)
	require.True(t, handle(one).IsHold())
	require.Equal(t, loop.GiveBack(), handle(other))
	require.False(t, b.armed("beat"), "nothing else wakes the schedule")
}

// TestLooksAgainBehindItsTimer: the clock of a process may be behind that of NATS, so that the message it holds is that of the
// timer which another process has armed, though by its own clock that timer has not fired yet. Who finds that the other has
// done what was due must arm it anew: the message was the last thing that would have woken the schedule.
func TestLooksAgainBehindItsTimer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	record := b.define("beat", seconds(3))
	d := record.Value
	now := d.CreateTime
	clock := func(c *Config) { c.Now = func() time.Time { return now } }
	one, other := b.pool(clock), b.pool(clock)
	message := loop.Message[wire.Wake]{Body: wire.Wake{Incarnation: d.Incarnation, Version: 1, Reason: wire.ReasonDue}}
	handle := func(p *Pool) loop.Verdict {
		return p.Handle(t.Context(), d.Key(), []loop.Message[wire.Wake]{message})
	}
	handle(one)
	state, _ := b.state("beat")
	now = state.Next.Add(-time.Second)
	require.True(t, handle(one).IsHold())
	require.True(t, handle(other).IsHold())
	message.Held = true
	now = state.Next.Add(time.Millisecond)
	d.Version = 2 // so that no hand-off is made by what a process remembers
	b.put(d, record.Revision)
	require.Equal(t, loop.Done(), handle(one))
	require.True(t, b.armed("beat"))
	require.NoError(t, other.config.Bus.Purge(t.Context(), b.names.TaskStream(0), b.names.DueTimer(0, d.Key())), "it fires")
	require.Equal(t, loop.Done(), handle(other))
	require.True(t, b.armed("beat"), "nothing else wakes the schedule")
}

// TestHoldsNothingThatAnotherMayAcknowledge: two processes have the same message. One lets the schedule rest until a far time, and
// will acknowledge the message. The other knows better, and must not rely on the message.
func TestHoldsNothingThatAnotherMayAcknowledge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("beat", seconds(1)).Value
	now := d.CreateTime
	p := b.pool(func(c *Config) { c.Now = func() time.Time { return now } })
	message := loop.Message[wire.Wake]{
		Body: wire.Wake{Incarnation: d.Incarnation, Version: 1, Reason: wire.ReasonDue}, Shared: true,
	}
	handle := func() loop.Verdict { return p.Handle(t.Context(), d.Key(), []loop.Message[wire.Wake]{message}) }
	require.Equal(t, loop.Done(), handle())
	require.True(t, b.armed("beat"), "nothing else wakes the schedule")
	require.True(t, handle().IsHold(), "it is as the process before has left it, which holds a message or has armed a timer")
}
