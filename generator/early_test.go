package generator

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAClockThatIsBehindArmsNoTimerThatFiresAtOnce: NATS has had the time already for which it would be armed again.
func TestAClockThatIsBehindArmsNoTimerThatFiresAtOnce(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second)
	next := armedByAClockThatIsBehind(t, schedule.Spec{At: []time.Time{due}})
	require.Equal(t, due.Add(-lead), next(), "as nobody knows better yet")
	armings := 0
	for last := next(); last.Before(due); armings++ {
		at := next()
		require.GreaterOrEqual(t, at.Sub(last), lead/8)
		last = at
	}
	require.LessOrEqual(t, armings, 6)
}

// TestAnIdleScheduleArmsNoTimerThatFiresAtOnce is the same for the time at which a schedule is closed that has nothing to do.
func TestAnIdleScheduleArmsNoTimerThatFiresAtOnce(t *testing.T) {
	t.Parallel()
	next := armedByAClockThatIsBehind(t, schedule.Spec{})
	last := next()
	for range 4 {
		at := next()
		require.GreaterOrEqual(t, at.Sub(last), lead/8)
		last = at
	}
}

const lead = 2 * time.Second

// armedByAClockThatIsBehind runs a generator whose clock is ten seconds behind, and returns what waits for the next timer that it arms for
// a schedule, and returns for when that is.
func armedByAClockThatIsBehind(t *testing.T, spec schedule.Spec) (next func() time.Time) {
	b := setup(t)
	conn := b.js.Conn()
	armed, err := conn.SubscribeSync(b.names.DueTimer(0, keyOf("s")))
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	b.define("s", spec)
	b.wake("s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	b.run(b.pool(func(c *Config) {
		c.IdleTime, c.Now = 100*time.Millisecond, func() time.Time { return time.Now().Add(-10 * time.Second) }
	}))
	return func() time.Time {
		msg, err := armed.NextMsg(patience)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(msg.Header.Get(task.HeaderAt), "@at "))
		require.NoError(t, err)
		return at
	}
}
