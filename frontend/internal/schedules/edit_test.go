package schedules

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/frontend/internal/calendars"
	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// stored is a definition at version 4 with some history.
func stored() wire.Definition {
	return wire.Definition{
		Namespace: "default", ID: "nightly", Incarnation: "i1", Version: 4, LimitVersion: 2, CreateTime: noon.Add(-time.Hour),
		RequestID: "r0", UpdateTime: noon.Add(-time.Minute),
		Schedule: schedule.Schedule{
			Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}},
			Action: schedule.Action{Type: "http", TaskQueue: "q"},
			State:  schedule.State{Notes: "for accounting", LimitedActions: true, RemainingActions: 5},
		},
	}
}

// begin begins an edit at noon, with the times of the definition.
func begin(t require.TestingT, def wire.Definition, f facts) *edit {
	spec, err := specproc.Compile(def.Schedule.Spec)
	require.NoError(t, err)
	f.times = times{spec: spec, seed: def.JitterSeed()}
	return beginEdit(def, asked, f)
}

// applied returns def with what every edit of stored() adds.
func applied(def wire.Definition) wire.Definition {
	def.Version++
	def.Applied = []wire.AppliedRequest{{RequestID: "r1", Version: def.Version}}
	return def
}

func kinds(events []schedule.Event) (all []schedule.EventKind) {
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

func TestEditPause(t *testing.T) {
	t.Parallel()
	paused := stored()
	paused.Schedule.State.Paused, paused.PausedBy, paused.PauseTime = true, "bob", noon.Add(-time.Second)
	for _, test := range []struct {
		name   string
		before wire.Definition
		paused bool
		note   string
		want   func(*wire.Definition)
	}{
		{"pause", stored(), true, "holidays", func(d *wire.Definition) {
			d.Schedule.State.Paused, d.Schedule.State.Notes = true, "holidays"
			d.PausedBy, d.PauseTime = "ann@desk", noon
		}},
		{"pause without a note", stored(), true, "", func(d *wire.Definition) {
			d.Schedule.State.Paused = true
			d.PausedBy, d.PauseTime = "ann@desk", noon
		}},
		{"pause again", paused, true, "more holidays", func(d *wire.Definition) {
			d.Schedule.State.Notes = "more holidays"
			d.PausedBy, d.PauseTime = "ann@desk", noon
		}},
		{"unpause", paused, false, "back", func(d *wire.Definition) {
			d.Schedule.State.Paused, d.Schedule.State.Notes, d.ActiveSince = false, "back", noon
			d.PausedBy, d.PauseTime = "", time.Time{}
		}},
		{"unpause what runs", stored(), false, "", func(*wire.Definition) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, change, kind := begin(t, test.before, facts{}), (*edit).unpause, schedule.EventUnpaused
			if test.paused {
				change, kind = (*edit).pause, schedule.EventPaused
			}
			change(e, schedule.Note{Note: test.note})
			want := applied(test.before)
			test.want(&want)
			assert.Equal(t, want, e.next)
			assert.Equal(t, []schedule.Event{changeEvent(&want, kind, 5, test.note, asked)}, e.events)
		})
	}
}

func TestEditReplace(t *testing.T) {
	t.Parallel()
	paused := stored()
	paused.Schedule.State.Paused, paused.PausedBy, paused.PauseTime = true, "bob", noon.Add(-time.Second)
	paused.Skips = []time.Time{noon.Add(time.Hour)}
	for _, test := range []struct {
		name   string
		before wire.Definition
		paused bool
		want   func(*wire.Definition)
	}{
		{"active stays so", stored(), false, func(*wire.Definition) {}},
		{"pauses", stored(), true, func(d *wire.Definition) { d.PausedBy, d.PauseTime = "ann@desk", noon }},
		{"stays paused by who did it", paused, true, func(*wire.Definition) {}},
		{"unpauses", paused, false, func(d *wire.Definition) {
			d.ActiveSince, d.PausedBy, d.PauseTime = noon, "", time.Time{}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := begin(t, test.before, facts{})
			other := schedule.Schedule{
				Action: schedule.Action{Type: "other", TaskQueue: "p"},
				State:  schedule.State{Paused: test.paused, LimitedActions: true, RemainingActions: 5},
			}
			e.replace(other)
			want := applied(test.before)
			want.Schedule, want.UpdateTime, want.LimitVersion = other, noon, 5
			test.want(&want)
			assert.Equal(t, want, e.next)
			assert.Equal(t, []schedule.Event{changeEvent(&want, schedule.EventUpdated, 5, "", asked)}, e.events)
		})
	}
}

func TestEditRemembersTheNewestRequests(t *testing.T) {
	t.Parallel()
	def := stored()
	for i := range wire.MaxApplied + 3 {
		from := asked
		from.RequestID = fmt.Sprint(i)
		before := slices.Clone(def.Applied)
		next := beginEdit(def, from, facts{}).next
		assert.Equal(t, before, def.Applied, "the argument must not change")
		def = next
	}
	def = beginEdit(def, request.Origin{}, facts{}).next
	require.Len(t, def.Applied, wire.MaxApplied)
	_, ok := appliedAs(&def, "2")
	assert.False(t, ok)
	version, ok := appliedAs(&def, "3")
	assert.True(t, ok)
	assert.Equal(t, uint64(8), version)
	_, ok = appliedAs(&def, "")
	assert.False(t, ok)
}

func TestEditForgetsWhatIsSettled(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	request := func(id string, version uint64) wire.BackfillState {
		return wire.BackfillState{ID: id, Version: version}
	}
	def := stored()
	def.Schedule.Spec.Jitter = schedule.Duration(30 * time.Minute)
	def.Skips = []time.Time{hour(-2), hour(-1), hour(0), hour(1)}
	def.Requests = []wire.BackfillState{request("a", 2), request("b", 3), request("c", 4)}
	for _, test := range []struct {
		name      string
		generator wire.GeneratorState
		skips     []time.Time
		requests  []wire.BackfillState
	}{
		{"no record", wire.GeneratorState{}, def.Skips, def.Requests},
		{"that of an earlier schedule", wire.GeneratorState{Incarnation: "i0", Version: 9, Mark: hour(9)}, def.Skips, def.Requests},
		{"by version and mark", wire.GeneratorState{Incarnation: "i1", Version: 3, Mark: hour(0)}, def.Skips[2:], def.Requests[2:]},
		{"one may still be delayed", wire.GeneratorState{Incarnation: "i1", Version: 2, Mark: hour(0).Add(29 * time.Minute)},
			def.Skips[2:], def.Requests[1:]},
		{"one was handed over", wire.GeneratorState{Incarnation: "i1", Version: 2, Mark: hour(0), LastNominal: hour(0)},
			def.Skips[3:], def.Requests[1:]},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := begin(t, def, facts{generator: test.generator})
			assert.Equal(t, test.skips, e.next.Skips)
			assert.Equal(t, test.requests, e.next.Requests)
		})
	}
}

func TestEditSkipCount(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	def := stored()
	def.Skips = []time.Time{hour(2)}
	e := begin(t, def, facts{generator: wire.GeneratorState{Incarnation: "i1", Mark: hour(-1)}})
	require.NoError(t, e.skip(schedule.Skip{Count: 3, Note: "maintenance"}))
	want := applied(def)
	want.Skips = []time.Time{hour(1), hour(2), hour(3), hour(4)}
	assert.Equal(t, want, e.next)
	event := changeEvent(&want, schedule.EventSkipRequested, 5, "maintenance", asked)
	event.Count, event.First, event.Last = 3, hour(1), hour(4)
	assert.Equal(t, []schedule.Event{event}, e.events)

	// Times that a generator with a fast clock has already dealt with cannot be skipped.
	e = begin(t, def, facts{generator: wire.GeneratorState{Incarnation: "i1", Mark: hour(1)}})
	require.NoError(t, e.skip(schedule.Skip{Count: 1}))
	assert.Equal(t, []time.Time{hour(2), hour(3)}, e.next.Skips)
}

func TestEditSkipCountOfFewer(t *testing.T) {
	t.Parallel()
	def := stored()
	def.Schedule.Spec.EndTime = noon.Add(2 * time.Hour)
	e := begin(t, def, facts{})
	require.NoError(t, e.skip(schedule.Skip{Count: 5}))
	assert.Len(t, e.next.Skips, 2)

	e = begin(t, e.next, facts{})
	err := e.skip(schedule.Skip{Count: 5})
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
}

// A time that jitter delays past now is still in the future.
func TestEditSkipsDelayedTimes(t *testing.T) {
	t.Parallel()
	def := stored()
	def.Schedule.Spec.Jitter = schedule.Duration(time.Hour)
	spec, err := specproc.Compile(def.Schedule.Spec)
	require.NoError(t, err)
	due, ok := spec.Next(noon.Add(-time.Hour-time.Second), def.JitterSeed())
	require.True(t, ok)
	require.True(t, due.Actual.After(due.Nominal))
	from := asked
	from.Now = due.Actual.Add(-time.Millisecond)
	for _, skip := range []schedule.Skip{{Count: 1}, {Times: []time.Time{due.Nominal}}} {
		e := beginEdit(def, from, facts{times: times{spec, def.JitterSeed()}})
		require.NoError(t, e.skip(skip))
		assert.Equal(t, []time.Time{due.Nominal}, e.next.Skips)
	}
	from.Now = due.Actual
	e := beginEdit(def, from, facts{times: times{spec, def.JitterSeed()}})
	require.NoError(t, e.skip(schedule.Skip{Count: 1}))
	assert.Equal(t, []time.Time{due.Nominal.Add(time.Hour)}, e.next.Skips)
	assert.Error(t, e.skip(schedule.Skip{Times: []time.Time{due.Nominal}}))

	// It has been handed over, and a later jitter cannot bring it back.
	from.Now = due.Actual.Add(-time.Millisecond)
	e = beginEdit(def, from, facts{
		times:     times{spec, def.JitterSeed()},
		generator: wire.GeneratorState{Incarnation: "i1", LastNominal: due.Nominal},
	})
	require.NoError(t, e.skip(schedule.Skip{Count: 1}))
	assert.Equal(t, []time.Time{due.Nominal.Add(time.Hour)}, e.next.Skips)
	assert.Error(t, e.skip(schedule.Skip{Times: []time.Time{due.Nominal}}))
}

// TestReplanFrom: a new version of a calendar leaves alone what was due by the old version, whatever the generator has seen.
func TestReplanFrom(t *testing.T) {
	t.Parallel()
	def := stored()
	def.Version, def.Schedule.Spec = 5, schedule.Spec{Cron: []string{"0 * * * *"}}
	spec, err := specproc.Compile(def.Schedule.Spec)
	require.NoError(t, err)
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	from := asked
	from.Now = hour(4).Add(time.Minute)
	for name, test := range map[string]struct {
		mark, updated, unpaused, replanned time.Time
		want                               time.Time
	}{
		"the generator has come some way": {mark: hour(2), want: hour(3).Add(-1)},
		"updated since":                   {mark: hour(1), updated: hour(2), want: hour(3).Add(-1)},
		"unpaused since":                  {mark: hour(1), updated: hour(2), unpaused: hour(3), want: hour(4).Add(-1)},
		"replanned since":                 {mark: hour(1), replanned: hour(2).Add(time.Second), want: hour(3).Add(-1)},
		"nothing was due":                 {mark: hour(4), want: from.Now},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := def
			def.CreateTime, def.UpdateTime, def.ActiveSince = hour(-1), test.updated, test.unpaused
			if def.ReplanFrom = test.replanned; !test.replanned.IsZero() {
				def.CalendarsVersion = 4
			}
			generator := wire.GeneratorState{Incarnation: def.Incarnation, Version: 3, Mark: test.mark}
			e := beginEdit(def, from, facts{times: times{spec, def.JitterSeed()}, generator: generator})
			e.replan(&calendars.Calendar{NamedCalendar: schedule.NamedCalendar{Name: "c"}})
			require.Equal(t, test.want, e.next.ReplanFrom.UTC())
		})
	}
}

func TestEditSkipTimes(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	def := stored()
	def.Skips = []time.Time{hour(2)}
	elsewhere := time.FixedZone("elsewhere", 3600)
	e := begin(t, def, facts{})
	require.NoError(t, e.skip(schedule.Skip{Times: []time.Time{hour(3).In(elsewhere), hour(2), hour(1), hour(3)}}))
	assert.Equal(t, []time.Time{hour(1), hour(2), hour(3)}, e.next.Skips)
	require.Len(t, e.events, 1)
	assert.Equal(t, 2, e.events[0].Count)
	assert.Equal(t, hour(1), e.events[0].First)
	assert.Equal(t, hour(3), e.events[0].Last)

	e = begin(t, def, facts{})
	require.NoError(t, e.skip(schedule.Skip{Times: []time.Time{hour(2)}}))
	assert.Empty(t, e.events, "nothing new is skipped")
}

func TestEditSkipRefuses(t *testing.T) {
	t.Parallel()
	def := stored()
	def.Schedule.Spec.EndTime = noon.Add(3 * time.Hour)
	over := stored()
	over.Schedule.Spec.EndTime = noon
	at := func(d time.Duration) []time.Time { return []time.Time{noon.Add(time.Hour), noon.Add(d)} }
	for _, test := range []struct {
		name    string
		def     wire.Definition
		times   []time.Time
		message string
	}{
		{"between two", def, at(100 * time.Minute),
			"times[1]: 2026-03-01T13:40:00Z is not a time of the spec: the nearest is 2026-03-01T14:00:00Z"},
		{"closer to the one before", def, at(80 * time.Minute), "the nearest is 2026-03-01T13:00:00Z"},
		{"a fraction", def, at(time.Hour + time.Nanosecond),
			"2026-03-01T13:00:00.000000001Z is not a time of the spec: the nearest is 2026-03-01T13:00:00Z"},
		{"past the end", def, at(20 * time.Hour), "the nearest is 2026-03-01T15:00:00Z"},
		{"now", def, at(0), "2026-03-01T12:00:00Z is over, or no time of the spec: the nearest to come is 2026-03-01T13:00:00Z"},
		{"long ago", def, at(-9999 * time.Hour), "the nearest to come is 2026-03-01T13:00:00Z"},
		{"nothing to come", over, []time.Time{noon.Add(time.Hour)}, "times[0]: 2026-03-01T13:00:00Z is not a time to come: the spec has none any more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := begin(t, test.def, facts{}).skip(schedule.Skip{Times: test.times})
			require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
			assert.ErrorContains(t, err, test.message)
		})
	}
}

func TestEditSkipsAreBounded(t *testing.T) {
	t.Parallel()
	e := begin(t, stored(), facts{})
	require.NoError(t, e.skip(schedule.Skip{Count: schedule.MaxSkips}))
	require.Len(t, e.next.Skips, schedule.MaxSkips)
	err := begin(t, e.next, facts{}).skip(schedule.Skip{Count: 1})
	assert.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
	assert.ErrorContains(t, err, "1001 times would be skipped, and at most 1000")
}

func TestEditUnskip(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	def := stored()
	def.Skips = []time.Time{hour(1), hour(2), hour(3)}
	for _, test := range []struct {
		name        string
		times, want []time.Time
		count       int
		first, last time.Time
	}{
		{"all", nil, []time.Time{}, 3, hour(1), hour(3)},
		{"some", []time.Time{hour(3), hour(9), hour(1)}, []time.Time{hour(2)}, 2, hour(1), hour(3)},
		{"none of them", []time.Time{hour(9)}, def.Skips, 0, time.Time{}, time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := begin(t, def, facts{})
			e.unskip(schedule.Unskip{Times: test.times})
			assert.Equal(t, test.want, e.next.Skips)
			if test.count == 0 {
				assert.Empty(t, e.events)
				return
			}
			event := changeEvent(&def, schedule.EventUnskipped, 5, "", asked)
			event.Count, event.First, event.Last = test.count, test.first, test.last
			assert.Equal(t, []schedule.Event{event}, e.events)
		})
	}
}

func TestEditPatchDoesEverything(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	def := stored()
	def.Skips = []time.Time{hour(1), hour(5)}
	e := begin(t, def, facts{})
	require.NoError(t, e.patch(&schedule.PatchRequest{
		Pause:     &schedule.Note{Note: "maintenance"},
		Trigger:   &schedule.Trigger{Note: "once more"},
		Backfills: []schedule.BackfillRange{{Start: hour(-5), End: hour(-4), Note: "gap"}, {Start: hour(-3), End: hour(-2)}},
		Unskip:    &schedule.Unskip{},
		Skip:      &schedule.Skip{Count: 2},
	}, "r1"))
	assert.True(t, e.next.Schedule.State.Paused)
	assert.Equal(t, wire.ReasonPaused, e.reason)
	assert.Equal(t, []time.Time{hour(1), hour(2)}, e.next.Skips, "unskip comes first")
	assert.Equal(t, def.UpdateTime, e.next.UpdateTime)
	require.Len(t, e.next.Requests, 3)
	for _, request := range e.next.Requests {
		assert.Equal(t, uint64(5), request.Version)
		assert.Equal(t, "i1", request.Incarnation)
		assert.Equal(t, "ann@desk", request.Identity)
	}
	assert.Equal(t, "once more", e.next.Requests[0].Trigger.Note)
	assert.Equal(t, "gap", e.next.Requests[1].Range.Note)
	assert.Equal(t, []schedule.EventKind{
		schedule.EventPaused, schedule.EventUnskipped, schedule.EventSkipRequested, schedule.EventTriggered,
		schedule.EventBackfillRequested, schedule.EventBackfillRequested,
	}, kinds(slices.Concat(e.events, e.requested)))
	ids := map[string]bool{}
	for _, event := range e.events {
		ids[event.ID] = true
	}
	assert.Len(t, ids, len(e.events))

	err := begin(t, def, facts{}).patch(&schedule.PatchRequest{Skip: &schedule.Skip{Times: []time.Time{noon}}}, "r1")
	assert.ErrorContains(t, err, "skip.times[0]: ")
}

func TestEditCountsPendingRequests(t *testing.T) {
	t.Parallel()
	ids := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("id-%d", i))
		}
		return all
	}
	def := stored()
	def.Requests = []wire.BackfillState{{ID: "id-0", Version: 4}, {ID: "new", Version: 4}}
	patch := &schedule.PatchRequest{Trigger: &schedule.Trigger{}, Backfills: make([]schedule.BackfillRange, 4)}
	// One of the two requests in the definition already has a record.
	require.NoError(t, begin(t, def, facts{pending: ids(94)}).patch(patch, "r1"))
	err := begin(t, def, facts{pending: ids(95)}).patch(patch, "r1")
	assert.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
	assert.ErrorContains(t, err, "has 96 pending triggers and backfills, 5 more would be too many")

	// A request that is already pending under the same ID is not made again.
	again := begin(t, def, facts{pending: append(ids(94), partID("i1", "r1", "trigger"))})
	require.NoError(t, again.patch(patch, "r1"))
	assert.Len(t, again.next.Requests, len(def.Requests)+4)
}

// Whatever the requests are, the skips are future times of the spec, in order, each once.
func TestEditSkipsAreTimesToCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		def := stored()
		def.Schedule.Spec.Intervals[0].Every = schedule.Duration(time.Duration(rapid.IntRange(1, 5000).Draw(t, "every")) * time.Second)
		def.Schedule.Spec.Jitter = schedule.Duration(time.Duration(rapid.IntRange(0, 5000).Draw(t, "jitter")) * time.Second)
		from := asked
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			from.Now = from.Now.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "pause")))
			mark := from.Now.Add(-time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "behind")))
			spec, err := specproc.Compile(def.Schedule.Spec)
			require.NoError(t, err)
			e := beginEdit(def, from, facts{
				times:     times{spec, def.JitterSeed()},
				generator: wire.GeneratorState{Incarnation: "i1", Mark: mark},
			})
			before := slices.Clone(e.next.Skips)
			if rapid.Bool().Draw(t, "count") {
				count := rapid.IntRange(1, 20).Draw(t, "n")
				require.NoError(t, e.skip(schedule.Skip{Count: count}))
				require.Len(t, e.next.Skips, len(before)+count)
			} else {
				t0 := noon.Add(time.Duration(rapid.Int64Range(-3600, 7200).Draw(t, "time")) * time.Second)
				err := e.skip(schedule.Skip{Times: []time.Time{t0}})
				at, ok := spec.Next(t0.Add(-time.Second), def.JitterSeed())
				isTime := ok && at.Nominal.Equal(t0) && at.Actual.After(from.Now)
				require.Equal(t, isTime, err == nil, "%v", err)
			}
			require.True(t, slices.IsSortedFunc(e.next.Skips, time.Time.Compare))
			require.Len(t, slices.CompactFunc(slices.Clone(e.next.Skips), time.Time.Equal), len(e.next.Skips))
			def = e.next
		}
	})
}

func TestNearestTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.IntRange(1, 100).Draw(t, "every")
		def := schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Duration(every) * time.Second)}}}
		spec, err := specproc.Compile(def)
		require.NoError(t, err)
		first, _ := spec.Next(noon, "")
		asked := first.Nominal.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "after")))
		nearest := nearestTime(spec, "", first.Nominal, asked)
		require.LessOrEqual(t, nearest.Sub(asked).Abs(), time.Duration(every)*time.Second/2)
		require.Zero(t, nearest.Unix()%int64(every))
	})
}
