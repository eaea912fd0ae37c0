package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestWhatArrivesDuringAGroupIsTheNextGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	release := make(chan struct{})
	l := b.config()
	b.run(l, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			<-release
		}
		return Done()
	})
	b.publish("a", "0")
	j.await(t, 1)
	const more = 5
	for i := range more {
		b.publish("a", fmt.Sprint(i+1))
	}
	info := func() int {
		c, err := b.js.Consumer(t.Context(), b.names.TaskStream(0), l.Pool)
		require.NoError(t, err)
		return c.CachedInfo().NumAckPending
	}
	natstest.Eventually(t, patience, "all messages are delivered", func() bool { return info() == 1+more })
	// Another schedule is not held up, and is the last of what was delivered.
	b.publish("b", "0")
	require.Equal(t, "b", j.await(t, 2)[1].id)
	close(release)
	calls := j.await(t, 3)
	require.Equal(t, call{id: "a", bodies: []string{"1", "2", "3", "4", "5"}, held: make([]bool, 5), deliveries: 1, at: calls[2].at}, calls[2])
	b.awaitEmpty()
	require.Len(t, j.all(), 3)
}

// TestGroupsOfOneScheduleNeverOverlap has a handler that does all a handler may, at random, under two loops.
func TestGroupsOfOneScheduleNeverOverlap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ids, each = 20, 20
	var handled sync.Map
	handler := func(seed uint64) handlerFunc {
		var busy [ids]atomic.Bool
		var random [ids]*rand.Rand
		for id := range ids {
			random[id] = rand.New(rand.NewPCG(seed, uint64(id)))
		}
		return func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
			var id int
			_, err := fmt.Sscan(key.ID, &id)
			assert.NoError(t, err)
			assert.True(t, busy[id].CompareAndSwap(false, true), "two groups of one schedule at once")
			defer busy[id].Store(false)
			dice := random[id] // of this schedule alone, as its groups never overlap
			switch n := dice.IntN(20); {
			case n == 0:
				panic("the dice say so")
			case n < 3:
				return Retry(errors.New("later"))
			}
			for _, m := range group {
				handled.Store(key.ID+"/"+m.Body, true)
			}
			if dice.IntN(3) == 0 {
				return Hold(time.Now().Add(time.Duration(dice.IntN(20)) * time.Millisecond))
			}
			return Done()
		}
	}
	config := b.config()
	config.Concurrency, config.MaxInFlight, config.MaxDeliveries = 8, 100, 1000
	b.run(config, handler(1))
	b.run(config, handler(2))
	for i := range each {
		for id := range ids {
			b.publish(fmt.Sprint(id), fmt.Sprint(i))
		}
	}
	b.awaitEmpty()
	for id := range ids {
		for i := range each {
			_, ok := handled.Load(fmt.Sprintf("%d/%d", id, i))
			require.True(t, ok, "schedule %d, message %d", id, i)
		}
	}
}

func TestHoldEndsAtItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	var until time.Time
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			until = time.Now().Add(300 * time.Millisecond)
			return Hold(until)
		}
		return Done()
	})
	b.publish("a", "0")
	calls := j.await(t, 2)
	require.False(t, calls[1].at.Before(until), "not before its time")
	require.EqualValues(t, 1, calls[1].deliveries)
	require.Equal(t, []bool{false}, calls[0].held)
	require.Equal(t, []bool{true}, calls[1].held)
	t.Logf("late by %v", calls[1].at.Sub(until))
	b.awaitEmpty()
	require.Len(t, j.all(), 2)
}

// TestGiveBack: what a handler gives back comes again at once.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		switch j.add(key, group) {
		case 1:
			return Hold(time.Now())
		case 2:
			return GiveBack()
		}
		return Done()
	})
	b.publish("a", "0")
	calls := j.await(t, 3)
	require.Equal(t, []bool{true}, calls[1].held)
	require.Equal(t, []bool{false}, calls[2].held)
	require.EqualValues(t, 2, calls[2].deliveries)
	b.awaitEmpty()
}

// TestAMessageEndsAHold: the timer of the hold is stopped. If it has fired already, it is not that of the present hold any more:
// it would begin to handle a group that the loop has forgotten, and forget the next one of that schedule.
func TestAMessageEndsAHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	l := New(b.config(), handlerFunc(func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			return Hold(time.Now().Add(time.Hour))
		}
		return Done()
	}))
	b.start(l)
	b.publish("a", "0")
	g := b.awaitGroup(l, "a", "it is held", func(g *group[string]) bool { return g.hold != nil })
	l.mu.Lock()
	timer, holds := g.hold, g.holds
	l.mu.Unlock()
	b.publish("a", "1")
	require.Equal(t, []string{"0", "1"}, j.await(t, 2)[1].bodies)
	b.awaitEmpty()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.False(t, timer.Stop(), "it is stopped already")
	require.Nil(t, g.hold)
	require.Greater(t, g.holds, holds, "whatever has fired is out of date")
}

// TestAHoldThatIsOverEndsNoOther: its timer fires, and finds that the group is held by another one.
func TestAHoldThatIsOverEndsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Now: time.Now}, handlerFunc(func(context.Context, schedule.Key, []Message[string]) Verdict { return Done() }))
		g := &group[string]{}
		l.mu.Lock()
		l.holdUntil(t.Context(), keyOf("a"), g, time.Now().Add(time.Second))
		l.holdUntil(t.Context(), keyOf("a"), g, time.Now().Add(time.Hour))
		later := g.hold
		l.mu.Unlock()
		time.Sleep(2 * time.Second) // of the clock of the bubble
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		require.Same(t, later, g.hold)
		require.False(t, g.busy, "it is not handled")
		require.True(t, later.Stop())
	})
}

// TestHoldKeepsOneMessage: a schedule that is always held must not gather every message that ever came for it.
func TestHoldKeepsOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Hold(time.Now().Add(time.Hour))
	})
	for i := range 5 {
		b.publish("a", fmt.Sprint(i))
		j.await(t, i+1)
	}
	calls := j.all()
	require.Equal(t, []string{"0"}, calls[0].bodies)
	require.Equal(t, []string{"0", "1"}, calls[1].bodies, "a new message joins what is held, and is handled at once")
	require.Equal(t, []string{"3", "4"}, calls[4].bodies, "the newest is kept")
	natstest.Eventually(t, patience, "the others are acknowledged", func() bool { return b.stored(b.names.TaskStream(0)) == 1 })
}

// TestHoldKeepsAMessageThatIsStored: another process, to which NATS has delivered it as well, has acknowledged the newest one. Should
// this process die now, that one wakes nobody.
func TestHoldKeepsAMessageThatIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	stream, err := b.js.Stream(t.Context(), b.names.TaskStream(0))
	require.NoError(t, err)
	var both atomic.Bool
	l := New(b.config(), handlerFunc(func(ctx context.Context, _ schedule.Key, group []Message[string]) Verdict {
		if len(group) == 2 && !both.Load() {
			gone, err := stream.GetLastMsgForSubject(ctx, b.names.Generate(0, keyOf("a"), "1"))
			if assert.NoError(t, err) {
				assert.NoError(t, stream.DeleteMsg(ctx, gone.Sequence))
			}
			both.Store(true)
		}
		return Hold(time.Now().Add(time.Hour))
	}))
	b.start(l)
	b.publish("a", "0")
	b.awaitGroup(l, "a", "it is held", func(g *group[string]) bool { return g.hold != nil })
	b.publish("a", "1")
	b.awaitGroup(l, "a", "one is held that is stored", func(g *group[string]) bool {
		return both.Load() && g.hold != nil && len(g.items) == 1 && g.items[0].Body == "0" && !g.busy
	})
	_, err = stream.GetLastMsgForSubject(t.Context(), b.names.Generate(0, keyOf("a"), "0"))
	require.NoError(t, err)
}

// TestHoldOfWhatIsNotStored: another process has acknowledged all that is to be held. The handler is told, and sees to it otherwise.
func TestHoldOfWhatIsNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	stream, err := b.js.Stream(t.Context(), b.names.TaskStream(0))
	require.NoError(t, err)
	told := make(chan []Message[string], 1)
	l := New(b.config(), handlerFunc(func(ctx context.Context, _ schedule.Key, group []Message[string]) Verdict {
		switch {
		case group[0].Gone:
			told <- group
			return Done()
		case len(group) == 2:
			assert.NoError(t, stream.Purge(ctx))
		}
		return Hold(time.Now().Add(time.Hour))
	}))
	b.start(l)
	b.publish("a", "0")
	b.awaitGroup(l, "a", "it is held", func(g *group[string]) bool { return g.hold != nil })
	b.publish("a", "1")
	select {
	case group := <-told:
		require.Len(t, group, 2)
		require.Equal(t, "1", group[0].Body)
		require.True(t, group[0].Held)
	case <-time.After(natstest.Patience):
		t.Fatal("the handler is not told")
	}
}

// TestSharedMessage: the handler learns that another process may have a message as well: one that is delivered once more, and one that
// was kept by a process which stood still.
func TestSharedMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	config := b.config()
	var ahead atomic.Int64
	config.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	groups := make(chan []Message[string], 3)
	l := New(config, handlerFunc(func(_ context.Context, _ schedule.Key, group []Message[string]) Verdict {
		groups <- group
		switch group[0].Body {
		case "again":
			if group[0].Deliveries == 1 {
				return Retry(errors.New("once more"))
			}
		case "held":
			if !group[0].Held {
				ahead.Store(int64(2 * subjects.TaskAckWait))
				return Hold(time.Now())
			}
		}
		return Done()
	}))
	b.start(l)
	next := func() Message[string] {
		select {
		case group := <-groups:
			require.Len(t, group, 1)
			return group[0]
		case <-time.After(natstest.Patience):
			t.Fatal("nothing is handled")
			return Message[string]{}
		}
	}
	for _, body := range []string{"again", "held"} {
		b.publish("a", body)
		require.False(t, next().Shared, body)
		require.True(t, next().Shared, body)
	}
}

// TestMessageThatComesAgainMeanwhile: the same message comes once more to the process that is at work on it. When it is done, so is that.
func TestMessageThatComesAgainMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	var j journal
	var reply atomic.Value
	goOn := make(chan struct{})
	l := New(b.config(), watched{&reply, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			assert.NoError(t, b.js.Conn().Publish(reply.Load().(string), []byte("-NAK")))
			<-goOn
		}
		return Done()
	}})
	b.start(l)
	b.publish("a", "0")
	b.awaitGroup(l, "a", "it has come again", func(g *group[string]) bool { return len(g.items) == 1 })
	close(goOn)
	b.awaitEmpty()
	b.publish("a", "1")
	require.Equal(t, []string{"1"}, j.await(t, 2)[1].bodies)
}

// TestHeldMessageThatComesAgain: after the election of a leader NATS delivers again what it does not know to be in progress,
// also to whoever holds it. To acknowledge the older delivery would remove the message.
func TestHeldMessageThatComesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	var j journal
	var reply atomic.Value
	stop := b.runHandler(b.config(), watched{&reply, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			assert.NoError(t, b.js.Conn().Publish(reply.Load().(string), []byte("-NAK")))
		}
		return Hold(time.Now().Add(time.Hour))
	}})
	b.publish("a", "0")
	calls := j.await(t, 2)
	require.Equal(t, []string{"0"}, calls[1].bodies, "it is one message")
	require.EqualValues(t, 2, calls[1].deliveries)
	require.Equal(t, []bool{true}, calls[1].held)
	stop()
	require.EqualValues(t, 1, b.stored(b.names.TaskStream(0)))

	b.run(b.config(), func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Done()
	})
	j.await(t, 3)
	b.awaitEmpty()
}

// watched is a handler that notes where the newest message is to be acknowledged.
type watched struct {
	reply *atomic.Value
	handlerFunc
}

func (w watched) Decode(task subjects.Task, msg jetstream.Msg) (string, error) {
	w.reply.Store(msg.Reply())
	return w.handlerFunc.Decode(task, msg)
}

// TestHeldMessagesAreKeptAlive holds for longer than the acknowledgement wait, after the loops have had nothing to keep.
func TestHeldMessagesAreKeptAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var j journal
	handle := func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) == 1 {
			return Hold(time.Now().Add(6 * time.Second))
		}
		return Done()
	}
	for range 2 {
		l := New(b.config(), handlerFunc(handle))
		b.start(l)
		natstest.Eventually(t, patience, "the loop sleeps", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.keepTimer != nil && !l.keepSet
		})
	}
	b.publish("a", "0")
	require.EqualValues(t, 1, j.await(t, 2)[1].deliveries)
	b.awaitEmpty()
	require.Len(t, j.all(), 2)
}

// TestStopKeepsRunningGroupsAlive stops a loop whose handler takes longer than the acknowledgement wait.
func TestStopKeepsRunningGroupsAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.DrainTimeout = time.Minute
	var j journal
	handle := func(ctx context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		_ = sleep.For(ctx, 7*time.Second)
		return Done()
	}
	stop := b.run(config, handle)
	b.publish("a", "0")
	j.await(t, 1)
	b.run(config, handle)
	stop()
	b.awaitEmpty()
	require.Len(t, j.all(), 1, "it did not come to the other loop")
}

func TestTransientErrorsAreTriedAgainForEver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.MaxDeliveries = 2
	var j journal
	b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		if j.add(key, group) < 4 {
			return Retry(errors.New("NATS is away"))
		}
		return Done()
	})
	b.publish("a", "0")
	calls := j.await(t, 4)
	for i, c := range calls {
		require.EqualValues(t, i+1, c.deliveries)
		if i > 0 {
			require.GreaterOrEqual(t, c.at.Sub(calls[i-1].at), 100*time.Millisecond<<i, "the delay grows")
		}
	}
	b.awaitEmpty()
	require.Empty(t, b.letters(0))
}

func TestMaxInFlightIsRespected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config()
	config.MaxInFlight = 3
	var running, most atomic.Int32
	release := make(chan struct{})
	b.run(config, func(context.Context, schedule.Key, []Message[string]) Verdict {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		<-release
		running.Add(-1)
		return Done()
	})
	for i := range 20 {
		b.publish(fmt.Sprint(i), "0")
	}
	natstest.Eventually(t, patience, "3 are handled", func() bool { return running.Load() == 3 })
	close(release)
	b.awaitEmpty()
	require.EqualValues(t, 3, most.Load())
}

// TestEveryShardIsServed however few messages may be in flight.
func TestEveryShardIsServed(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	const shards = 3
	b := setupOn(t, js, shards)
	config := b.config()
	config.MaxInFlight, config.Shards = 1, shards
	var j journal
	b.run(config, func(_ context.Context, key schedule.Key, group []Message[string]) Verdict {
		j.add(key, group)
		return Done()
	})
	for i := range 3 * shards { // one after the other: the loop must not wait for the shard that was served last
		shard := i % shards
		_, err := js.Publish(t.Context(), b.names.Generate(shard, keyOf(fmt.Sprint(shard)), "wake"), []byte("0"))
		require.NoError(t, err)
		j.await(t, i+1)
	}
}

func TestTwoLoopsShareTheWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.neverRedeliver()
	var first, second atomic.Int32
	count := func(n *atomic.Int32) handlerFunc {
		return func(ctx context.Context, _ schedule.Key, group []Message[string]) Verdict {
			n.Add(int32(len(group)))
			_ = sleep.For(ctx, time.Millisecond)
			return Done()
		}
	}
	const all = 1000
	for i := range all {
		b.publish(fmt.Sprint(i), "0")
	}
	config := b.config()
	config.Concurrency, config.MaxInFlight = 4, 16
	b.run(config, count(&first))
	b.run(config, count(&second))
	b.awaitEmpty()
	require.EqualValues(t, all, first.Load()+second.Load(), "each once")
	require.NotZero(t, first.Load())
	require.NotZero(t, second.Load())
}
