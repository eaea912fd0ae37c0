package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// limited is a harness in a namespace whose limit gives room at some milliseconds from now on, and says to ask again in a second.
func limited(t *testing.T, slots func() []int, changes ...func(*wire.Definition)) *harness {
	k := newHarness(t, changes...)
	k.bounds.Room = &invoker.Room{DelayedBy: schedule.DelayActionRate}
	k.ask = func(int) *invoker.Room {
		room := &invoker.Room{Asked: true, DelayedBy: schedule.DelayActionRate, AskAt: k.now.Add(time.Second)}
		for _, ms := range slots() {
			room.Slots = append(room.Slots, k.now.Add(time.Duration(ms)*time.Millisecond))
		}
		return room
	}
	return k
}

func slots(ms ...int) func() []int { return func() []int { return ms } }

func (k *harness) after(d time.Duration) {
	k.now = k.now.Add(d)
	k.transition(invoker.Input{})
}

func TestDelayedStartsBeginAtTheirTime(t *testing.T) {
	t.Parallel()
	k := limited(t, slots(0, 200), policy(schedule.OverlapAllowAll))
	k.due(-3, -2, -1)
	require.Equal(t, "-3 ready, -2 pending, -1 pending", k.phases())
	require.Equal(t, map[schedule.DelayReason]int{schedule.DelayActionRate: 2}, k.last.Delayed)
	require.Equal(t, k.now.Add(200*time.Millisecond), k.find(-2).Delay.NotBefore)
	require.Equal(t, &schedule.Delay{By: schedule.DelayActionRate}, k.find(-1).Delay)
	k.work(invoker.Accepted)
	require.Equal(t, k.now.Add(200*time.Millisecond), invoker.RetryAt(&k.state, k.now))

	k.after(200 * time.Millisecond)
	require.Equal(t, "-3 started, -2 ready, -1 pending", k.phases())
	require.Empty(t, k.last.Delayed, "a start is delayed once")
	require.Nil(t, k.find(-2).Delay)
	k.work(invoker.Accepted)
	require.Equal(t, origin.Add(time.Second), invoker.RetryAt(&k.state, k.now), "then it asks again")

	k.after(800 * time.Millisecond)
	require.Equal(t, "-3 started, -2 started, -1 ready", k.phases())
	require.Zero(t, k.state.AskAt)
}

// TestAutomatedStartsAreGivenRoomFirst, so that they do not wait for those of a backfill.
func TestAutomatedStartsAreGivenRoomFirst(t *testing.T) {
	t.Parallel()
	given := slots()
	k := limited(t, func() []int { return given() }, policy(schedule.OverlapAllowAll))
	k.backfill("b", true, "", -9, -8)
	k.due(-1)
	require.Equal(t, "-9 pending, -8 pending, -1 pending", k.phases())
	given = slots(0)
	k.after(time.Second)
	require.Equal(t, "-9 pending, -8 pending, -1 ready", k.phases())
}

// TestWhatBecomesOfADelayedStart: what may not start any more is given up as always.
func TestWhatBecomesOfADelayedStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(k *harness)
		events  string
	}{
		"limit lifted":     {func(k *harness) { k.bounds.Room = nil }, ""},
		"paused":           {func(k *harness) { k.d.Schedule.State.Paused = true }, "-1 dropped"},
		"frozen":           {func(k *harness) { k.bounds.Freeze = &schedule.Freeze{Reason: "move", From: k.now} }, "-1 dropped"},
		"past its window":  {func(k *harness) { k.now = k.now.Add(20 * time.Second) }, "-1 missed"},
		"too late to use":  {func(k *harness) { k.now = k.now.Add(invoker.StaleSlot + time.Second) }, ""},
		"another by skip":  {func(k *harness) { k.due(1) }, "1 skipped"},
		"another ends it":  {func(k *harness) { k.dueUnder(schedule.OverlapCancelOther, 1) }, "-1 skipped"},
		"nothing, so long": {func(*harness) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := limited(t, slots(500), catchup(15*time.Second))
			k.due(-1)
			require.Equal(t, "-1 pending", k.phases())
			require.Empty(t, k.events())
			test.happens(k)
			k.after(time.Millisecond)
			require.Equal(t, test.events, k.events())
			switch name {
			case "limit lifted":
				require.Equal(t, "-1 ready", k.phases())
				require.Nil(t, k.find(-1).Delay)
			case "too late to use":
				require.Equal(t, k.now.Add(500*time.Millisecond), k.find(-1).Delay.NotBefore, "it has another time")
			case "nothing, so long":
				require.False(t, k.last.Changed)
			}
		})
	}
}

// TestADelayedStartThatIsDeferred waits for a run from then on, and not for its time: when the run ends it asks anew.
func TestADelayedStartThatIsDeferred(t *testing.T) {
	t.Parallel()
	given := slots(1500)
	k := limited(t, func() []int { return given() }, policy(schedule.OverlapBufferAll))
	k.due(-1)
	require.Equal(t, "-1 pending", k.phases())
	given = slots(0)
	k.trigger(1, schedule.OverlapAllowAll)
	k.work(invoker.Accepted)
	require.Equal(t, "-1 deferred, 1 started", k.phases())
	require.Nil(t, k.find(-1).Delay)
	given = slots()
	k.now = k.now.Add(2 * time.Second)
	k.complete(1, schedule.StatusCompleted)
	require.Equal(t, "1 completed, -1 pending", k.phases(), "its time has passed, and is nobody's any more")
}

// TestARunThatIsRefusedMakesRoomForNobody who has not asked.
func TestARunThatIsRefusedMakesRoomForNobody(t *testing.T) {
	t.Parallel()
	k := limited(t, slots(0), policy(schedule.OverlapBufferAll))
	k.due(-2, -1)
	require.Equal(t, "-2 ready, -1 deferred", k.phases())
	k.work(invoker.Refused)
	require.Equal(t, "-1 pending", k.phases())
	require.Equal(t, k.now, invoker.RetryAt(&k.state, k.now), "it asks at once")
	k.after(0)
	require.Equal(t, "-1 ready", k.phases())
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(-9)
	k.due(-8)
	require.Equal(t, "-9 started, -8 deferred", k.phases())
	k.events()
	k.bounds.Freeze = &schedule.Freeze{Reason: "move", From: k.now, Until: k.now.Add(time.Minute)}
	k.trigger(1, schedule.OverlapAllowAll)
	require.Equal(t, "-9 started, -8 deferred, 1 ready", k.phases(), "what people ask for starts")
	k.work(invoker.Accepted)
	k.complete(1, schedule.StatusCompleted)
	k.news = nil
	k.complete(-9, schedule.StatusCompleted)
	require.Equal(t, "namespace frozen: move", k.news[len(k.news)-1].Reason)
	require.Equal(t, "-9 completed, -8 dropped", k.events())

	k.now = k.now.Add(2 * time.Minute)
	k.due(59) // handed over by who had not heard of the freeze
	require.Equal(t, "59 dropped", k.events())
	k.due(61)
	require.Equal(t, "61 ready", k.phases()[len(k.phases())-len("61 ready"):])
}
