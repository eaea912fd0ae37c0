package alarm

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds what a test waits for.
const limit = time.Minute

// run runs a clock until the test ends.
func run(t testing.TB, c *Clock) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func TestAlarmsAreCalledInTime(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"running": true, "standing still": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c Clock
			if runs {
				run(t, &c)
			}
			for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 20 * time.Millisecond} {
				begin, called := time.Now(), make(chan time.Time, 1)
				c.After(d, func() { called <- time.Now() })
				select {
				case at := <-called:
					require.False(t, at.Before(begin.Add(d)), "early")
				case <-time.After(limit):
					t.Fatal("never")
				}
			}
		})
	}
}

func TestAStoppedAlarmIsNotCalled(t *testing.T) {
	t.Parallel()
	var c Clock
	run(t, &c)
	var called atomic.Bool
	a := c.After(20*time.Millisecond, func() { called.Store(true) })
	later := make(chan struct{})
	c.After(40*time.Millisecond, func() { close(later) })
	a.Stop()
	a.Stop()
	<-later
	require.False(t, called.Load())
	a.Stop()
	require.Empty(t, c.pending)
}

// deaf is an alarm whose timer never fires, as if nobody looked at it.
func (c *Clock) deaf(d time.Duration, call func()) *Alarm {
	a := c.After(time.Hour, call)
	c.mu.Lock()
	defer c.mu.Unlock()
	a.at = time.Now().Add(d)
	heap.Fix(&c.pending, a.place)
	c.next = time.Time{}
	c.set()
	return a
}

// TestTheBellCallsWhatTheTimerDoesNot: each alarm once, and those that have been set before the clock runs as well.
func TestTheBellCallsWhatTheTimerDoesNot(t *testing.T) {
	t.Parallel()
	if bell := newBell(); bell == nil {
		t.Skip("there is none")
	} else {
		bell.close()
	}
	var c Clock
	called := make(chan struct{}, 2)
	c.deaf(10*time.Millisecond, func() { called <- struct{}{} })
	run(t, &c)
	<-called
	c.deaf(10*time.Millisecond, func() { called <- struct{}{} })
	<-called
	require.Empty(t, c.pending)
}

// TestManyAlarms: each is called once, unless it is stopped.
func TestManyAlarms(t *testing.T) {
	t.Parallel()
	var c Clock
	run(t, &c)
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 50).Draw(t, "microseconds")
		stop := rapid.SliceOfN(rapid.Bool(), len(times), len(times)).Draw(t, "stopped")
		calls := make([]atomic.Int32, len(times))
		var expected sync.WaitGroup
		for i, us := range times {
			if stop[i] {
				c.After(time.Hour+time.Duration(us)*time.Microsecond, func() { calls[i].Add(1) }).Stop()
				continue
			}
			expected.Add(1)
			c.After(time.Duration(us)*time.Microsecond, func() {
				calls[i].Add(1)
				expected.Done()
			})
		}
		expected.Wait()
		for i := range calls {
			want := int32(1)
			if stop[i] {
				want = 0
			}
			if calls[i].Load() != want {
				t.Fatalf("alarm %d was called %d times", i, calls[i].Load())
			}
		}
	})
}

func TestQueueIsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c Clock
		begin := time.Now()
		var all []*Alarm
		for _, s := range rapid.SliceOfN(rapid.IntRange(1, 1000), 1, 50).Draw(t, "hours") {
			all = append(all, c.After(time.Duration(s)*time.Hour, func() {}))
		}
		for i, gone := range rapid.SliceOfN(rapid.Bool(), len(all), len(all)).Draw(t, "stopped") {
			if gone {
				all[i].Stop()
			}
		}
		last := begin
		for _, a := range c.late(begin.Add(2000 * time.Hour)) {
			a.timer.Stop()
			if a.at.Before(last) {
				t.Fatal("not in order")
			}
			last = a.at
		}
		if len(c.pending) > 0 {
			t.Fatal("something is left")
		}
	})
}
