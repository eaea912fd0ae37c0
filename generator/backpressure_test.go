package generator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

func TestBackpressure(t *testing.T) {
	t.Parallel()
	const limit = 640 // so ten hand-offs are worth a look
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := backpressure{limit: limit}
	handOffs := func(n int) (looks int) {
		for range n {
			if b.note(0, now) {
				looks++
			}
		}
		return looks
	}
	require.Zero(t, handOffs(9), "too few to be worth a look")
	require.Equal(t, 20, handOffs(20), "from then on, until one has looked")
	b.learn(0, limit, nil, now)
	require.Zero(t, b.wait(0, now, now), "not far behind")
	require.Zero(t, handOffs(20), "just looked")

	now = now.Add(lookEvery)
	require.Equal(t, 1, handOffs(1))
	b.learn(0, limit+1, nil, now)
	require.Equal(t, now.Add(waitTime), b.wait(0, now, now))
	require.Equal(t, now.Add(waitTime), b.wait(0, now.Add(-waitLimit+1), now))
	require.Zero(t, b.wait(0, now.Add(-waitLimit), now), "has waited long enough")
	require.Zero(t, b.wait(1, now, now), "another shard")

	now = now.Add(lookEvery)
	require.Equal(t, 1, handOffs(1), "while hand-offs wait, each is worth a look")
	b.learn(0, 0, errors.New("no answer"), now)
	require.Zero(t, b.wait(0, now, now), "who knows nothing holds nothing back")
	now = now.Add(lookEvery)
	require.Zero(t, handOffs(100))
	now = now.Add(lookAgain)
	require.Equal(t, 1, handOffs(1))
}

// TestHandOffsOfALongBacklogGoTogether: nobody takes what is handed over here, so the actions of a second wait for those of
// the next ones, and none is lost.
func TestHandOffsOfALongBacklogGoTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.define("beat", seconds(1))
	b.run(b.pool(func(c *Config) { c.MaxBacklog = 1 }))
	b.wake("beat", wire.Wake{Incarnation: "of-beat", Version: 1, Reason: wire.ReasonCreated})
	most := 0
	b.eventually("three actions are handed over at once", func() bool {
		for _, e := range b.handOffs("beat") {
			most = max(most, len(e.Starts))
		}
		return most >= 3
	})
	due := map[time.Time]bool{}
	var first, last time.Time
	for _, e := range b.handOffs("beat") {
		for i := range e.Starts {
			at := e.Starts[i].Nominal
			require.False(t, due[at], "%s twice", at)
			due[at] = true
			if first.IsZero() || at.Before(first) {
				first = at
			}
			last = latest(last, at)
		}
	}
	require.Len(t, due, int(last.Sub(first)/time.Second)+1, "one for each second")
}
