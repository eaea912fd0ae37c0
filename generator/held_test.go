package generator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/schedule"
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
	message := loop.Message[schedule.Wake]{Body: schedule.Wake{Incarnation: d.Incarnation, Version: 1, Reason: schedule.ReasonDue}}
	handle := func(p *Pool) loop.Verdict {
		return p.Handle(t.Context(), d.Key(), []loop.Message[schedule.Wake]{message})
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
