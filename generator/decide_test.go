package generator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

var created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return created.Add(d) }

// every is a definition that is due every so often, created at created.
func every(d time.Duration) *wire.Definition {
	return &wire.Definition{
		Namespace: "default", ID: "s", Incarnation: "i", Version: 1, CreateTime: created,
		Schedule: schedule.Schedule{Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(d)}}}},
	}
}

func once(times ...time.Time) *wire.Definition {
	d := every(time.Hour)
	d.Schedule.Spec = schedule.Spec{At: times}
	return d
}

func compile(t require.TestingT, d *wire.Definition) *specproc.Spec {
	spec, err := specproc.Compile(d.Schedule.Spec)
	require.NoError(t, err)
	return spec
}

// input is a decision about a schedule at a time, without a record and with the idle time of the default.
func input(t require.TestingT, d *wire.Definition, now time.Time) Input {
	return Input{Definition: d, Spec: compile(t, d), IdleTime: 7 * 24 * time.Hour, Now: now}
}

// with is a record of that schedule as it was after a decision at mark.
func with(in Input, mark time.Time) Input {
	before := in
	before.Now = mark
	in.State = Decide(before).State
	return in
}

func nominals(e *wire.Enqueue) []time.Time {
	if e == nil {
		return nil
	}
	times := make([]time.Time, len(e.Starts))
	for i := range e.Starts {
		times[i] = e.Starts[i].Nominal
	}
	return times
}

func TestNewSchedule(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	got := Decide(input(t, d, at(30*time.Second)))
	require.Nil(t, got.HandOff)
	require.True(t, got.Changed)
	require.False(t, got.Close)
	require.Equal(t, at(time.Minute), got.WakeAt)
	require.Equal(t, wire.ReasonDue, got.Reason)
	future := make([]time.Time, 10)
	for i := range future {
		future[i] = at(time.Duration(i+1) * time.Minute)
	}
	require.Equal(t, wire.GeneratorState{
		Incarnation: "i", Version: 1, Mark: at(30 * time.Second), HandedOff: created, Next: at(time.Minute), Future: future,
	}, got.State)
}

// TestMarkOfANewScheduleIsItsCreateTime: what was due between the creation and the first wake is handed over.
func TestMarkOfANewScheduleIsItsCreateTime(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	got := Decide(input(t, d, at(150*time.Second)))
	require.Equal(t, &wire.Enqueue{
		Incarnation: "i", Version: 1, Source: schedule.SourceAuto,
		Span: wire.Span{From: created, To: at(150 * time.Second)},
		Starts: []wire.BufferedStart{
			wire.NewStart(d, schedule.SourceAuto, at(time.Minute), at(time.Minute)),
			wire.NewStart(d, schedule.SourceAuto, at(2*time.Minute), at(2*time.Minute)),
		},
	}, got.HandOff)
	require.Equal(t, at(150*time.Second), got.State.Mark)
	require.Equal(t, at(150*time.Second), got.State.HandedOff)
	require.Equal(t, at(3*time.Minute), got.WakeAt)

	// A record of an earlier schedule of the same ID means nothing.
	in := input(t, d, at(150*time.Second))
	in.State = wire.GeneratorState{Incarnation: "earlier", Version: 7, Mark: at(time.Hour), HandedOff: at(time.Hour)}
	require.Equal(t, got, Decide(in))
}

// TestChainOfHandOffs: each begins where the one before ended, also over stretches in which nothing was due.
func TestChainOfHandOffs(t *testing.T) {
	t.Parallel()
	in := with(input(t, every(time.Minute), at(61*time.Second)), at(10*time.Second))
	first := Decide(in)
	require.Equal(t, wire.Span{From: created, To: at(61 * time.Second)}, first.HandOff.Span)
	in.State, in.Now = first.State, at(90*time.Second)
	idle := Decide(in)
	require.Nil(t, idle.HandOff)
	require.False(t, idle.Changed, "a mark alone is not worth a write")
	in.Now = at(120 * time.Second)
	second := Decide(in)
	require.Equal(t, wire.Span{From: at(61 * time.Second), To: at(120 * time.Second)}, second.HandOff.Span)
	require.Equal(t, []time.Time{at(2 * time.Minute)}, nominals(second.HandOff))
}

func TestClockThatGoesBack(t *testing.T) {
	t.Parallel()
	in := with(input(t, every(time.Minute), at(time.Minute)), at(10*time.Minute))
	got := Decide(in)
	require.Nil(t, got.HandOff)
	require.Equal(t, at(10*time.Minute), got.State.Mark, "the mark does not move back")
	require.Equal(t, at(11*time.Minute), got.WakeAt)
	require.Equal(t, at(11*time.Minute), got.State.Future[0])

	got = Decide(input(t, every(time.Minute), at(-time.Hour)))
	require.Nil(t, got.HandOff)
	require.Equal(t, created, got.State.Mark, "nor before the creation")
}

func TestUpdateDropsWhatWasDueBefore(t *testing.T) {
	t.Parallel()
	in := with(input(t, every(time.Minute), at(10*time.Minute)), at(30*time.Second))
	in.Definition.Version, in.Definition.UpdateTime = 2, at(8*time.Minute+1)
	got := Decide(in)
	require.Equal(t, []time.Time{at(9 * time.Minute), at(10 * time.Minute)}, nominals(got.HandOff))
	require.Equal(t, wire.Span{From: created, To: at(10 * time.Minute)}, got.HandOff.Span, "the chain goes on")
	require.EqualValues(t, 2, got.State.Version)

	// An update before the mark changes nothing about what is due; the record says that it has been seen.
	in = with(in, at(10*time.Minute))
	in.Definition.Version, in.Now = 3, at(10*time.Minute+1)
	got = Decide(in)
	require.Nil(t, got.HandOff)
	require.True(t, got.Changed)

	// By a clock that is ahead: the mark moves to the update, and what lies before is settled.
	in.Definition.Version, in.Definition.UpdateTime = 4, at(12*time.Minute)
	got = Decide(in)
	require.Nil(t, got.HandOff)
	require.Equal(t, at(12*time.Minute), got.State.Mark)
	require.Equal(t, at(13*time.Minute), got.WakeAt)
}

// replanned is the input about a later version of a definition, with another calendar.
func replanned(t require.TestingT, in Input, now time.Time, windows ...schedule.Blackout) Input {
	d := *in.Definition
	d.Version++
	d.CalendarsVersion, d.ReplanTime = d.Version, now
	d.Events = append(slices.Clone(d.Events), wire.DefinitionEvent{
		Version: d.Version, Event: schedule.Event{Kind: schedule.EventReplanned, Time: now},
	})
	d.Schedule.Spec.ExcludeCalendarsNamed = []string{"c"}
	d.Calendars = map[string]wire.CalendarCopy{"c": {Windows: windows}}
	spec, err := specproc.CompileWith(d.Schedule.Spec, d.NamedCalendars())
	require.NoError(t, err)
	in.Definition, in.Spec, in.Now = &d, spec, now
	return in
}

// TestReplanBringsNothingBack: what a calendar has left out when it was to come does not come when the calendar changes.
func TestReplanBringsNothingBack(t *testing.T) {
	t.Parallel()
	closed := schedule.Blackout{From: at(0), To: at(time.Hour)}
	// Each minute for an hour is left out, until that is taken back after half an hour.
	in := with(replanned(t, input(t, every(time.Minute), created), created, closed), at(10*time.Second))
	require.Equal(t, at(time.Hour), in.State.Next)
	opened := replanned(t, in, at(30*time.Minute+time.Second))
	got := Decide(opened)
	require.Empty(t, nominals(got.HandOff))
	require.Equal(t, at(31*time.Minute), got.WakeAt)

	// A generator that comes late goes by the newest version since the change.
	late := opened
	late.Now = at(32 * time.Minute)
	require.Equal(t, []time.Time{at(31 * time.Minute), at(32 * time.Minute)}, nominals(Decide(late).HandOff))
	// Since the first one, where it has seen none of several.
	again := replanned(t, opened, at(40*time.Minute))
	require.Len(t, nominals(Decide(again).HandOff), 10)
	again.State.Version = opened.Definition.Version
	again.Now = at(41 * time.Minute)
	require.Equal(t, []time.Time{at(41 * time.Minute)}, nominals(Decide(again).HandOff))

	// What was due by the older version, and is so by the newer one, stays due.
	in = with(replanned(t, input(t, every(time.Minute), created), created, schedule.Blackout{From: at(0), To: at(5 * time.Minute)}), at(10*time.Second))
	opened = replanned(t, in, at(6*time.Minute+time.Second))
	require.Equal(t, []time.Time{at(5 * time.Minute), at(6 * time.Minute)}, nominals(Decide(opened).HandOff))
}

// TestReplanOfWhatNobodyHasSeen: between the record and the change of a calendar, another change has made times due.
func TestReplanOfWhatNobodyHasSeen(t *testing.T) {
	t.Parallel()
	closed := schedule.Blackout{From: at(0), To: at(5 * time.Minute)}
	before := replanned(t, input(t, every(time.Minute), created), created, closed)
	before.Definition.Schedule.State.Paused = true
	in := with(before, at(10*time.Second))
	require.Zero(t, in.State.Next)

	unpaused := *in.Definition
	unpaused.Version, unpaused.Schedule.State.Paused, unpaused.ActiveSince = unpaused.Version+1, false, at(2*time.Minute+30*time.Second)
	in.Definition = &unpaused
	opened := replanned(t, in, at(6*time.Minute+time.Second))
	// The frontend has seen that the first time by the version before was at 5:00.
	opened.Definition.ReplanFrom = at(5 * time.Minute).Add(-1)
	require.Equal(t, []time.Time{at(5 * time.Minute), at(6 * time.Minute)}, nominals(Decide(opened).HandOff))
	opened.Definition.ReplanFrom = opened.Definition.ReplanTime
	require.Empty(t, nominals(Decide(opened).HandOff))

	// No generator has seen the schedule at all.
	opened.State = wire.GeneratorState{}
	require.Empty(t, nominals(Decide(opened).HandOff))
	opened.Definition.ReplanFrom = at(5 * time.Minute).Add(-1)
	require.Equal(t, []time.Time{at(5 * time.Minute), at(6 * time.Minute)}, nominals(Decide(opened).HandOff))
}

func TestPauseAndUnpause(t *testing.T) {
	t.Parallel()
	in := with(input(t, every(time.Minute), at(5*time.Minute)), at(90*time.Second))
	d := in.Definition
	d.Version, d.Schedule.State.Paused = 2, true
	paused := Decide(in)
	require.Nil(t, paused.HandOff)
	require.True(t, paused.Changed)
	require.Zero(t, paused.WakeAt, "nothing is armed")
	require.Zero(t, paused.State.Next)
	require.Empty(t, paused.State.Future)
	require.Equal(t, at(5*time.Minute), paused.State.Mark)

	// Nobody looked while it was paused. What was due then stays undone.
	d.Version, d.Schedule.State.Paused, d.ActiveSince = 3, false, at(8*time.Minute+1)
	in.State, in.Now = paused.State, at(10*time.Minute)
	got := Decide(in)
	require.Equal(t, []time.Time{at(9 * time.Minute), at(10 * time.Minute)}, nominals(got.HandOff))
	require.Equal(t, wire.Span{From: at(90 * time.Second), To: at(10 * time.Minute)}, got.HandOff.Span)
	require.Zero(t, got.HandOff.Missed)
	require.Equal(t, at(11*time.Minute), got.WakeAt)
}

func TestCatchupWindow(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	d.Schedule.Policies.CatchupWindow = schedule.Duration(2 * time.Minute)
	got := Decide(input(t, d, at(time.Hour)))
	require.Equal(t, []time.Time{at(58 * time.Minute), at(59 * time.Minute), at(time.Hour)}, nominals(got.HandOff))
	require.Equal(t, 57, got.HandOff.Missed)
	require.Zero(t, got.HandOff.Dropped)

	// What was missed is told also when nothing is due.
	d.Schedule.Spec = schedule.Spec{At: []time.Time{at(time.Minute)}}
	got = Decide(input(t, d, at(time.Hour)))
	require.NotNil(t, got.HandOff)
	require.Empty(t, got.HandOff.Starts)
	require.Equal(t, 1, got.HandOff.Missed)
}

func TestCatchupModeLatest(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	d.Schedule.Policies.CatchupMode = schedule.CatchupLatest
	d.Schedule.Policies.CatchupWindow = schedule.Duration(30 * time.Minute)
	got := Decide(input(t, d, at(time.Hour+30*time.Second)))
	require.Equal(t, []time.Time{at(time.Hour)}, nominals(got.HandOff))
	require.Equal(t, 30, got.HandOff.Missed, "1 to 30 are outside the window")
	require.Equal(t, 29, got.HandOff.Superseded, "31 to 59 have a newer one")

	// In time, none supersedes another.
	got = Decide(input(t, d, at(time.Minute+time.Millisecond)))
	require.Equal(t, []time.Time{at(time.Minute)}, nominals(got.HandOff))
	require.Zero(t, got.HandOff.Superseded)
}

func TestHandOffLimit(t *testing.T) {
	t.Parallel()
	got := Decide(input(t, every(time.Second), at(1500*time.Second)))
	require.Len(t, got.HandOff.Starts, HandOffLimit)
	require.Equal(t, at(time.Second), got.HandOff.Starts[0].Nominal)
	require.Equal(t, 500, got.HandOff.Dropped)
	require.Equal(t, at(1500*time.Second), got.State.Mark)
}

func TestLimitedActions(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	d.Schedule.State.LimitedActions = true
	in := input(t, d, at(time.Minute))
	in.Remaining = 3
	got := Decide(in)
	require.Equal(t, []time.Time{at(time.Minute)}, nominals(got.HandOff))
	require.Equal(t, []time.Time{at(2 * time.Minute), at(3 * time.Minute)}, got.State.Future, "one is on its way")

	// The last may be dropped by its overlap policy, which costs no action: there must be a next time.
	in.Remaining = 1
	got = Decide(in)
	require.Len(t, got.HandOff.Starts, 1)
	require.Equal(t, wire.ReasonDue, got.Reason)
	require.Equal(t, at(2*time.Minute), got.WakeAt)
	require.Empty(t, got.State.Future)

	in.State, in.Remaining, in.Now = got.State, 0, at(2*time.Minute)
	in.LastAction, in.Taken = at(time.Minute), at(time.Minute)
	got = Decide(in)
	require.Nil(t, got.HandOff)
	require.Equal(t, at(2*time.Minute), got.State.Mark)
	require.Equal(t, wire.ReasonIdle, got.Reason)
	require.Equal(t, at(time.Minute).Add(in.IdleTime), got.WakeAt)
	require.Zero(t, got.State.Next)
}

func TestIdleDeadline(t *testing.T) {
	t.Parallel()
	const idle = time.Hour
	type change func(*Input)
	busy := func(in *Input) { in.Busy = true }
	noIdle := func(in *Input) { in.IdleTime = 0 }
	updated := func(in *Input) { in.Definition.UpdateTime = at(20 * time.Minute) }
	unpaused := func(in *Input) { in.Definition.ActiveSince = at(25 * time.Minute) }
	paused := func(in *Input) { in.Definition.Schedule.State.Paused = true }
	action := func(in *Input) { in.LastAction = at(30 * time.Minute) }
	handed := func(in *Input) { in.State.HandedOff = at(40 * time.Minute) }
	taken := func(in *Input) { in.Taken = at(40 * time.Minute) }
	now := func(d time.Duration) change { return func(in *Input) { in.Now = at(d) } }
	for name, test := range map[string]struct {
		changes []change
		want    time.Duration
		close   bool
	}{
		"new":                        {nil, idle, false},
		"for ever":                   {[]change{noIdle, now(1000 * time.Hour)}, -1, false},
		"updated":                    {[]change{updated}, 20*time.Minute + idle, false},
		"unpaused":                   {[]change{updated, unpaused}, 25*time.Minute + idle, false},
		"newest action":              {[]change{action, updated}, 30*time.Minute + idle, false},
		"handed off and taken":       {[]change{handed, taken, action}, 40*time.Minute + idle, false},
		"handed off and not taken":   {[]change{handed, now(5 * time.Hour)}, 5*time.Hour + idle, false},
		"busy":                       {[]change{busy, now(5 * time.Hour)}, 5*time.Hour + idle, false},
		"just before the deadline":   {[]change{now(idle - 1)}, idle, false},
		"deadline":                   {[]change{now(idle)}, idle, true},
		"late":                       {[]change{handed, taken, now(99 * time.Hour)}, 40*time.Minute + idle, true},
		"paused":                     {[]change{paused, now(99 * time.Hour)}, -1, false},
		"busy at what was the end":   {[]change{busy, now(idle)}, 2 * idle, false},
		"for ever, although so late": {[]change{noIdle, handed, taken, now(99 * time.Hour)}, -1, false},
	} {
		in := input(t, once(at(-time.Hour)), at(0))
		in.IdleTime = idle
		in.State = Decide(in).State
		for _, change := range test.changes {
			change(&in)
		}
		got := Decide(in)
		var want time.Time
		if test.want >= 0 {
			want = at(test.want)
		}
		assert.Equal(t, want, got.WakeAt, name)
		assert.Equal(t, want, got.State.IdleDeadline, name)
		assert.Equal(t, test.close, got.Close, name)
		assert.Nil(t, got.HandOff, name)
	}
}

// TestOneOffDueLongAfterItsCreation must not close the schedule in the moment it hands over the only action, however long
// ago the creation was.
func TestOneOffDueLongAfterItsCreation(t *testing.T) {
	t.Parallel()
	due := at(30 * 24 * time.Hour)
	in := input(t, once(due), due)
	in = with(in, created)
	got := Decide(in)
	require.Equal(t, []time.Time{due}, nominals(got.HandOff))
	require.False(t, got.Close)
	require.Equal(t, due.Add(in.IdleTime), got.WakeAt)

	// The invoker is away, for longer than the idle time.
	in.State, in.Now = got.State, got.WakeAt
	got = Decide(in)
	require.False(t, got.Close)
	require.Equal(t, in.Now.Add(in.IdleTime), got.WakeAt)
	in.LastAction, in.Taken = due, due
	require.True(t, Decide(in).Close)
}

func TestEmptySpec(t *testing.T) {
	t.Parallel()
	in := input(t, once(), at(time.Hour))
	got := Decide(in)
	require.Nil(t, got.HandOff)
	require.Equal(t, created.Add(in.IdleTime), got.WakeAt)
}

// TestJitterPendingAcrossMarks: nominal ≤ mark < actual must not be lost, nor come twice.
func TestJitterPendingAcrossMarks(t *testing.T) {
	t.Parallel()
	d := every(time.Hour)
	d.Schedule.Spec.Jitter = schedule.Duration(30 * time.Minute)
	d.CreateTime = at(30 * time.Minute) // when the jitter of the hour before is over
	spec := compile(t, d)
	next, ok := spec.Next(d.CreateTime, d.JitterSeed())
	require.True(t, ok)
	require.True(t, next.Actual.After(next.Nominal))

	between := next.Nominal.Add(next.Actual.Sub(next.Nominal) / 2)
	in := input(t, d, between)
	got := Decide(in)
	require.Nil(t, got.HandOff)
	require.Equal(t, next.Actual, got.WakeAt)
	require.Equal(t, next.Actual, got.State.Future[0])
	in.State, in.Now = got.State, next.Actual
	got = Decide(in)
	require.Equal(t, []time.Time{next.Nominal}, nominals(got.HandOff))
	require.Equal(t, next.Actual, got.HandOff.Starts[0].Actual)
	in.State, in.Now = got.State, next.Actual.Add(1)
	require.Nil(t, Decide(in).HandOff)
}

// taker is the invoker as far as hand-offs go: it takes what no earlier one of the chain covered.
type taker struct {
	covered []wire.Span
	starts  []wire.BufferedStart
}

func (i *taker) take(e *wire.Enqueue) {
	for _, start := range e.Starts {
		if !slices.ContainsFunc(i.covered, func(s wire.Span) bool {
			return start.Actual.After(s.From) && !start.Actual.After(s.To)
		}) {
			i.starts = append(i.starts, start)
		}
	}
	i.covered = append(i.covered, e.Span)
}

// TestChainCoversEveryTimeOnce: whatever the times of the wakes, with clocks that go back, writes that do not happen, and
// hand-offs that arrive late, repeated and out of order.
func TestChainCoversEveryTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDefinition(t)
		in := input(t, d, created)
		var invoker taker
		var late []*wire.Enqueue
		latest := created
		for range rapid.IntRange(0, 40).Draw(t, "wakes") {
			in.Now = in.Now.Add(anyStep(t))
			latest = maxTime(latest, in.Now)
			got := decidePure(t, in)
			if got.HandOff != nil {
				late = append(late, got.HandOff)
			}
			if rapid.IntRange(0, 3).Draw(t, "fate") > 0 { // else it dies before the write
				if got.Changed {
					in.State = got.State
				}
			}
			if len(late) > 0 && rapid.Bool().Draw(t, "arrives") {
				i := rapid.IntRange(0, len(late)-1).Draw(t, "which")
				invoker.take(late[i])
				if rapid.Bool().Draw(t, "once") {
					late = slices.Delete(late, i, i+1)
				}
			}
		}
		in.Now = latest
		if got := Decide(in); got.HandOff != nil {
			late = append(late, got.HandOff)
		}
		for _, e := range late {
			invoker.take(e)
		}
		requireTimes(t, in.Spec, d, latest, invoker.starts)
	})
}

func requireTimes(t require.TestingT, spec *specproc.Spec, d *wire.Definition, end time.Time, starts []wire.BufferedStart) {
	var want, got []string
	for time := range spec.Between(created, end, d.JitterSeed()) {
		want = append(want, fmt.Sprint(time.Nominal, time.Actual))
	}
	for _, s := range starts {
		got = append(got, fmt.Sprint(s.Nominal, s.Actual))
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}

// decidePure decides, and checks that the input is left as it was and gives the same again.
func decidePure(t *rapid.T, in Input) Decision {
	definition, state := *in.Definition, in.State
	state.Future = slices.Clone(state.Future)
	got := Decide(in)
	require.Equal(t, definition, *in.Definition)
	require.Equal(t, state, in.State)
	require.Equal(t, got, Decide(in))

	require.False(t, got.State.Mark.Before(in.State.Mark), "the mark never moves back")
	require.True(t, got.WakeAt.IsZero() || got.WakeAt.After(in.Now) || got.Reason == wire.ReasonIdle, "or it would spin")
	require.False(t, got.Close && got.HandOff != nil)
	require.LessOrEqual(t, len(got.State.Future), 10)
	if e := got.HandOff; e != nil {
		require.True(t, got.Changed)
		require.True(t, e.From.Before(e.To))
		require.Equal(t, e.To, got.State.HandedOff)
		for _, start := range e.Starts {
			require.True(t, start.Actual.After(e.From) && !start.Actual.After(e.To))
		}
	}
	return got
}

func anyDefinition(t *rapid.T) *wire.Definition {
	d := every(time.Duration(rapid.IntRange(1, 90).Draw(t, "every")) * time.Second)
	d.Schedule.Spec.Intervals[0].Phase = 0
	d.Schedule.Spec.Jitter = schedule.Duration(rapid.IntRange(0, 120_000).Draw(t, "jitter")) * schedule.Duration(time.Millisecond)
	if rapid.Bool().Draw(t, "one-off times") {
		for range rapid.IntRange(1, 5).Draw(t, "count") {
			d.Schedule.Spec.At = append(d.Schedule.Spec.At, at(time.Duration(rapid.IntRange(0, 600).Draw(t, "at"))*time.Second))
		}
	}
	return d
}

// anyStep mostly goes on, by milliseconds or a minute, and sometimes back.
func anyStep(t *rapid.T) time.Duration {
	step := time.Duration(rapid.IntRange(0, 20_000).Draw(t, "step")) * time.Millisecond
	if rapid.IntRange(0, 4).Draw(t, "direction") == 0 {
		return -step
	}
	return step
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// TestMissedAndTakenMakeUpTheWhole, without crashes: every time is either handed over or counted, once.
func TestMissedAndTakenMakeUpTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDefinition(t)
		d.Schedule.Policies.CatchupWindow = schedule.Duration(rapid.IntRange(10, 60).Draw(t, "window")) * schedule.Duration(time.Second)
		in := input(t, d, created)
		handed, missed := 0, 0
		for range rapid.IntRange(1, 20).Draw(t, "wakes") {
			in.Now = in.Now.Add(time.Duration(rapid.IntRange(0, 180_000).Draw(t, "step")) * time.Millisecond)
			got := decidePure(t, in)
			if got.HandOff != nil {
				handed += len(got.HandOff.Starts)
				missed += got.HandOff.Missed
			}
			if got.Changed {
				in.State = got.State
			}
		}
		want := 0
		for range in.Spec.Between(created, in.Now, d.JitterSeed()) {
			want++
		}
		require.Equal(t, want, handed+missed)
	})
}

// TestLastNominalOfAnOutcome: what is given up, for whatever reason, has been dealt with just as what starts.
func TestLastNominalOfAnOutcome(t *testing.T) {
	t.Parallel()
	given := specproc.Tally{Count: 2, First: at(1), Last: at(5)}
	starts := []specproc.Time{{Nominal: at(2)}, {Nominal: at(4)}}
	for name, out := range map[string]specproc.RangeResult{
		"missed":     {Missed: given, Times: starts},
		"superseded": {Superseded: given, Times: starts},
		"dropped":    {Dropped: given, Times: starts},
		"started":    {Times: []specproc.Time{{Nominal: at(4)}, {Nominal: at(5)}}},
	} {
		require.Equal(t, at(5), lastNominal(out), name)
	}
}
