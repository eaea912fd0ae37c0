package loop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRestGathersWhatMayWait: any other message ends the rest, and takes along what has gathered.
func TestRestGathersWhatMayWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Rest(time.Now().Add(time.Hour))
	})
	b.publish("a", "w0")
	j.await(t, 1)
	b.publish("a", "w1")
	b.publish("a", "w2")
	b.publish("a", "now")
	calls := j.await(t, 2)
	require.Equal(t, []string{"w1", "w2", "now"}, calls[1].bodies)
	require.Equal(t, []bool{false, false, false}, calls[1].held)
	b.awaitEmpty()
	b.publish("a", "w3") // is given back at the end
	b.publish("b", "w4")
	require.Equal(t, []string{"w4"}, j.await(t, 3)[2].bodies, "another schedule")
}

func TestRestEndsAtItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	var until time.Time
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			until = time.Now().Add(300 * time.Millisecond)
			return Rest(until)
		}
		return Done()
	})
	b.publish("a", "w0")
	j.await(t, 1)
	b.publish("a", "w1")
	calls := j.await(t, 2)
	require.False(t, calls[1].at.Before(until), "not before its time")
	require.Equal(t, []string{"w1"}, calls[1].bodies)
	b.awaitEmpty()
	b.publish("a", "w2")
	require.Equal(t, []string{"w2"}, j.await(t, 3)[2].bodies, "it does not rest any more")
}

// TestWhatMayNotWaitPreventsARest: it came while the group before it was being handled.
func TestWhatMayNotWaitPreventsARest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	release := make(chan struct{})
	l := New(b.config(), handlerFunc(func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			<-release
			return Rest(time.Now().Add(time.Hour))
		}
		return Done()
	}))
	b.start(l)
	b.publish("a", "w0")
	j.await(t, 1)
	b.publish("a", "w1")
	b.publish("a", "now")
	b.awaitGroup(l, "a", "both have come", func(g *group[string]) bool { return len(g.items) == 2 })
	close(release)
	require.Equal(t, []string{"w1", "now"}, j.await(t, 2)[1].bodies)
	b.awaitEmpty()
}
