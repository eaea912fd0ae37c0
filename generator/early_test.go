package generator

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/timer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAClockThatIsBehindArmsNoTimerThatFiresAtOnce: NATS has had the time already for which it would be armed again.
func TestAClockThatIsBehindArmsNoTimerThatFiresAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.js.Conn()
	armed, err := conn.SubscribeSync(b.names.DueTimer(0, keyOf("s")))
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	due := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second)
	b.define("s", schedule.Spec{At: []time.Time{due}})
	b.wake("s", schedule.Wake{Incarnation: "of-s", Version: 1, Reason: schedule.ReasonCreated})
	b.run(b.pool(func(c *Config) { c.Now = func() time.Time { return time.Now().Add(-10 * time.Second) } }))
	next := func() (at time.Time) {
		msg, err := armed.NextMsg(patience)
		require.NoError(t, err)
		at, err = time.Parse(time.RFC3339Nano, strings.TrimPrefix(msg.Header.Get(timer.HeaderAt), "@at "))
		require.NoError(t, err)
		return at
	}
	const lead = 2 * time.Second
	require.Equal(t, due.Add(-lead), next(), "as nobody knows better yet")
	armings := 0
	for last := next(); last.Before(due); armings++ {
		at := next()
		require.GreaterOrEqual(t, at.Sub(last), lead/8)
		last = at
	}
	require.LessOrEqual(t, armings, 6)
}

func TestNotAtOnce(t *testing.T) {
	t.Parallel()
	const lead = 2 * time.Second
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct{ fired, now, want time.Duration }{
		"no timer has fired":              {-time.Hour, -time.Hour, 0},
		"one has fired before":            {-time.Second, -time.Minute, 0},
		"the time has come":               {100 * time.Millisecond, 150 * time.Millisecond, 0},
		"it has not come here":            {100 * time.Millisecond, -time.Minute, 350 * time.Millisecond},
		"it has not for some time":        {600 * time.Millisecond, -time.Minute, 1200 * time.Millisecond},
		"it has not for a long time":      {time.Hour, -time.Minute, time.Hour + time.Second},
		"it has just not come here, late": {time.Second, -1, 2 * time.Second},
	} {
		fired := at.Add(test.fired)
		if test.fired == -time.Hour {
			fired = time.Time{}
		}
		require.Equal(t, at.Add(test.want), notAtOnce(at, fired, at.Add(test.now), lead), name)
	}
}
