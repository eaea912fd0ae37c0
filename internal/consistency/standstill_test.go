package consistency_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// period leaves time to remove a timer before it fires. The removal happens two seconds ahead.
const period = 4 * time.Second

// standstill is damage that stops a schedule.
type standstill struct {
	id string
	// period is the period of the schedule once it is mended.
	period time.Duration
	// plant damages a schedule that has run, and that nothing wakes any more.
	plant func(*installation, schedule.Key)
	kinds []consistency.Kind
}

// standstills returns all kinds of such damage. The first one is left to people by a scrubber.
func standstills() []standstill {
	one := func(kinds ...consistency.Kind) []consistency.Kind { return kinds }
	return []standstill{
		{"lost-hand-off", period, loseHandOff, one(consistency.DueTimerMissing, consistency.HandOffLost)},
		{"no-timer", period, func(*installation, schedule.Key) {}, one(consistency.DueTimerMissing)},
		{"no-generator", period, func(s *installation, key schedule.Key) { remove(s, kv.Generator(key)) }, one(consistency.GeneratorMissing)},
		{"truncated-generator", period, func(s *installation, key schedule.Key) { truncate(s, key, kv.Generator(key)) },
			one(consistency.RecordDamaged)},
		{"no-invoker", period, func(s *installation, key schedule.Key) { remove(s, kv.Invoker(key)) },
			one(consistency.DueTimerMissing, consistency.InvokerMissing)},
		// The event history shows how far the two had come.
		{"neither", period, func(s *installation, key schedule.Key) { remove(s, kv.Generator(key)); remove(s, kv.Invoker(key)) },
			one(consistency.GeneratorMissing)},
		{"unseen-change", time.Second, changeUnseen, one(consistency.ChangeUnseen)},
	}
}

// loseHandOff makes the generator believe that it has handed over the next action.
func loseHandOff(s *installation, key schedule.Key) {
	s.Helper()
	var next time.Time
	put(s, kv.Generator(key), func(g *wire.GeneratorState) { next = g.Next })
	s.eventually("another is due", func() bool { return time.Now().After(next.Add(100 * time.Millisecond)) })
	put(s, kv.Generator(key), func(g *wire.GeneratorState) {
		g.Mark, g.HandedOff, g.LastNominal, g.Next = next, next, next, next.Add(period)
	})
}

// changeUnseen changes a definition without a wake.
func changeUnseen(s *installation, key schedule.Key) {
	s.Helper()
	put(s, kv.Definition(key), func(d *wire.Definition) {
		d.Version++
		d.Schedule.Spec.Intervals[0].Every = schedule.Duration(time.Second)
		d.UpdateTime = time.Now().UTC()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[key.ID] = nil // runs of the earlier period do not count
}

// standStill plants each kind of damage in one schedule.
func (s *installation) standStill(all []standstill) {
	s.Helper()
	for _, damage := range all {
		s.create(damage.id, period)
	}
	for _, damage := range all {
		key := schedule.Key{Namespace: "default", ID: damage.id}
		s.eventually("it runs", func() bool { return s.ran(damage.id) > 0 })
		s.silence(key)
		s.eventually("nothing runs", func() bool { return len(s.describe(damage.id).Info.RunningWorkflows) == 0 })
		damage.plant(s, key)
	}
}

// goOn waits until the schedules have run some more times, and checks that they left out nothing.
func (s *installation) goOn(all []standstill) {
	s.Helper()
	before := map[string]int{}
	for _, damage := range all {
		before[damage.id] = s.ran(damage.id)
	}
	for _, damage := range all {
		s.eventually(damage.id+" runs on", func() bool { return s.ran(damage.id) >= before[damage.id]+2 })
		s.leftOutNothing(damage.id, damage.period)
		info := s.describe(damage.id).Info
		assert.Zero(s, info.MissedCatchupWindow+info.OverlapSkipped+info.BufferDropped, damage.id)
	}
}

func TestRepairOfSchedulesThatStandStill(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	all := standstills()
	s.standStill(all)
	want, got := map[string][]consistency.Kind{}, map[string][]consistency.Kind{}
	for _, damage := range all {
		want[damage.id] = damage.kinds
	}
	for _, f := range s.finds(true) {
		got[f.ScheduleID] = append(got[f.ScheduleID], f.Kind)
		assert.True(t, f.Repaired, "%s %s: %s", f.ScheduleID, f.Kind, f.Problem)
	}
	require.Equal(t, want, got)
	s.goOn(all)
	s.eventually("nothing is wrong", func() bool { return len(s.finds(false)) == 0 })
}

// TestLostHandOffOfAPausedSchedule: nothing is handed over again before the pause ends. There is nothing to repair until then,
// and no action is missing after it.
func TestLostHandOffOfAPausedSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	key := s.create("a", period)
	s.eventually("it runs", func() bool { return s.ran(key.ID) > 0 })
	s.silence(key)
	s.eventually("nothing runs", func() bool { return len(s.describe(key.ID).Info.RunningWorkflows) == 0 })
	loseHandOff(s, key)
	put(s, kv.Invoker(key), func(inv *wire.InvokerState) { // as if the hand-off had arrived
		auto := inv.Sources[schedule.SourceAuto]
		var g wire.GeneratorState
		put(s, kv.Generator(key), func(state *wire.GeneratorState) {
			g = *state
			state.HandedOff, state.Mark = g.HandedOff.Add(time.Millisecond), g.Mark.Add(time.Millisecond)
		})
		auto.Covered = append(auto.Covered, wire.Span{From: g.HandedOff, To: g.HandedOff.Add(time.Millisecond)})
		inv.Sources[schedule.SourceAuto] = auto
	})
	require.NoError(t, s.api.Pause(t.Context(), key.ID, "maintenance"))
	s.eventually("that is all that is found", func() bool {
		return slices.Equal([]consistency.Kind{consistency.HandOffLost}, kindsOf(s.finds(false)))
	})
	found := s.finds(true)
	require.Len(t, found, 1)
	require.True(t, found[0].Repaired, found[0].Problem)
	require.Empty(t, s.finds(false), "the next hand-off begins where the gap does")
	ran := s.ran(key.ID)
	require.NoError(t, s.api.Unpause(t.Context(), key.ID, ""))
	s.eventually("it runs on", func() bool { return s.ran(key.ID) >= ran+2 })
	require.Empty(t, s.finds(false))
}

// TestLostFirstHandOff: the invoker's record does not show what it never received, but the event history does.
func TestLostFirstHandOff(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	first := map[string]time.Time{}
	silent := func(id string) schedule.Key {
		key := s.create(id, period, func(r *schedule.CreateRequest) {
			// It was due within the last second, so that there is time before it is due again.
			r.Schedule.Spec.Intervals[0].Phase = schedule.Duration(time.Unix(time.Now().Unix(), 0).Sub(time.Unix(0, 0)) % period)
		})
		s.silence(key)
		put(s, kv.Generator(key), func(g *wire.GeneratorState) { first[id] = g.Next })
		require.Zero(t, s.ran(id))
		return key
	}
	alone, triggered, overtaken := silent("alone"), silent("triggered"), silent("overtaken")
	for _, key := range []schedule.Key{alone, triggered, overtaken} {
		loseHandOff(s, key)
	}
	s.trigger(triggered.ID)
	s.eventually("it has run by hand", func() bool { return s.ran(triggered.ID) == 1 })
	// The next hand-off arrives, and the later ones are lost again, so that nothing happens any more.
	s.wake(overtaken)
	s.eventually("it runs", func() bool { return s.ran(overtaken.ID) > 0 })
	s.silence(overtaken)
	s.eventually("nothing runs", func() bool { return len(s.describe(overtaken.ID).Info.RunningWorkflows) == 0 })

	s.mends(consistency.DueTimerMissing, consistency.HandOffLost, consistency.DueTimerMissing, consistency.HandOffLost,
		consistency.DueTimerMissing, consistency.HandOffLost)
	for id, nominal := range first {
		s.eventually(id+" has run when it was due first", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.runs[id][nominal] == 1 })
		s.eventually(id+" runs on", func() bool { return s.ran(id) >= 4 })
		assert.Zero(t, s.describe(id).Info.MissedCatchupWindow)
	}
	s.eventually("nothing is wrong", func() bool { return len(s.finds(false)) == 0 })
}

func TestScrubberMendsSchedulesThatStandStill(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	all := standstills()[1:]
	s.standStill(all)
	s.background(s.scrubber(nil).Run)
	s.goOn(all)
	s.eventually("nothing is wrong", func() bool { return len(s.finds(false)) == 0 })
}

func TestGeneratorThatHasNeverSeenTheSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	key := schedule.Key{Namespace: "default", ID: "a"}
	put(s, kv.Definition(key), func(d *wire.Definition) {
		*d = wire.Definition{
			Namespace: key.Namespace, ID: key.ID, Incarnation: "i", Version: 1, CreateTime: time.Now().UTC(),
			Schedule: schedule.Schedule{
				Spec:     schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}},
				Action:   schedule.Action{Type: "record", TaskQueue: "q"},
				Policies: schedule.Policies{Overlap: schedule.OverlapBufferAll},
			},
		}
	})
	s.mends(consistency.GeneratorMissing)
	s.goOn([]standstill{{id: "a", period: time.Second}})
}
