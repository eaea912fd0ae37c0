package generator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed" // so that the test does the same each time
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// zoneOf is the spec of a definition by rules under which the clock is ahead of UTC by some hours: those of a zone without
// changes.
func zoneOf(t require.TestingT, d *wire.Definition, hours int) (*specproc.Spec, wire.ZoneRules) {
	names := map[int]string{0: "Etc/GMT", 1: "Etc/GMT-1", -7: "Etc/GMT+7", -8: "Etc/GMT+8"}
	spec := d.Schedule.Spec
	spec.TimeZone = names[hours]
	compiled, err := specproc.Compile(spec)
	require.NoError(t, err)
	return compiled, wire.ZoneRules{Data: names[hours], Rules: names[hours]}
}

// zoned is a schedule under rules that change.
type zoned struct {
	t     require.TestingT
	d     *wire.Definition
	state wire.GeneratorState
	// ran are the due times handed over, and events what was told.
	ran    []time.Time
	events []schedule.Event
}

func newZoned(t require.TestingT, created time.Time, spec schedule.Spec) *zoned {
	return &zoned{t: t, d: &wire.Definition{
		Namespace: "ns", ID: "s", Incarnation: "i", Version: 1, CreateTime: created,
		Schedule: schedule.Schedule{Spec: spec},
	}}
}

// run decides at an instant under the rules of an offset, and forgets a decision that need not be written.
func (z *zoned) run(now time.Time, hours int) Decision {
	spec, rules := zoneOf(z.t, z.d, hours)
	decision := Decide(Input{Definition: z.d, Spec: spec, Zone: rules, State: z.state, Now: now})
	if decision.HandOff != nil {
		for _, start := range decision.HandOff.Starts {
			z.ran = append(z.ran, start.Actual)
		}
	}
	z.events = append(z.events, decision.Events...)
	if decision.Changed {
		z.state = decision.State
	}
	return decision
}

// runUntil decides whenever something is due, up to an instant.
func (z *zoned) runUntil(until time.Time, hours int) {
	for !z.state.Next.IsZero() && !z.state.Next.After(until) {
		z.run(z.state.Next, hours)
	}
	z.run(until, hours)
}

func hm(hour, minute int) time.Time { return time.Date(2026, 11, 25, hour, minute, 0, 0, time.UTC) }

// TestZoneChange moves a zone at one instant of a day.
func TestZoneChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec          schedule.Spec
		before, after int
		changed       time.Time
		woken         time.Time // when something else has the record written before
		want          []time.Time
		reason        string
	}{
		"earlier, before both": {
			spec: schedule.Spec{Cron: []string{"0 9 * * *"}}, before: -8, after: -7, changed: hm(12, 0),
			want: []time.Time{hm(16, 0)}, reason: "due at 2026-11-25T16:00:00Z, no longer at 2026-11-25T17:00:00Z",
		},
		"earlier, in between": {
			spec: schedule.Spec{Cron: []string{"0 9 * * *"}}, before: -8, after: -7, changed: hm(16, 30),
			want: []time.Time{hm(16, 0)}, reason: "due at 2026-11-25T16:00:00Z, no longer at 2026-11-25T17:00:00Z",
		},
		"earlier, in between, with a mark in between": {
			spec: schedule.Spec{Cron: []string{"0 9 * * *"}}, before: -8, after: -7, woken: hm(16, 20), changed: hm(16, 30),
			want: []time.Time{hm(16, 0)}, reason: "due at 2026-11-25T16:00:00Z, no longer at 2026-11-25T17:00:00Z",
		},
		"earlier, after both": {
			spec: schedule.Spec{Cron: []string{"0 9 * * *"}}, before: -8, after: -7, changed: hm(17, 30),
			want: []time.Time{hm(17, 0)}, reason: "due at 2026-11-26T16:00:00Z, no longer at 2026-11-26T17:00:00Z",
		},
		"later, before both": {
			spec: schedule.Spec{Cron: []string{"0 9 * * *"}}, before: -7, after: -8, changed: hm(12, 0),
			want: []time.Time{hm(17, 0)}, reason: "due at 2026-11-25T17:00:00Z, no longer at 2026-11-25T16:00:00Z",
		},
		"later, in between": {
			spec: schedule.Spec{Cron: []string{"0 9 * * *"}}, before: -7, after: -8, changed: hm(16, 30),
			want: []time.Time{hm(16, 0)}, reason: "due at 2026-11-26T17:00:00Z, no longer at 2026-11-26T16:00:00Z",
		},
		"later, between two": {
			spec: schedule.Spec{Cron: []string{"0,30 9 * * *"}}, before: -7, after: -8, changed: hm(16, 10),
			want: []time.Time{hm(16, 0), hm(17, 30)}, reason: "due at 2026-11-25T17:30:00Z, no longer at 2026-11-25T16:30:00Z",
		},
		"earlier, between two": {
			spec: schedule.Spec{Cron: []string{"0,30 9 * * *"}}, before: -8, after: -7, changed: hm(17, 10),
			want: []time.Time{hm(17, 0), hm(16, 30)}, reason: "due at 2026-11-25T16:30:00Z, no longer at 2026-11-25T17:30:00Z",
		},
		"every hour": {
			spec: schedule.Spec{Cron: []string{"30 * * * *"}, StartTime: hm(15, 0), EndTime: hm(18, 0)}, before: -7, after: -8, changed: hm(16, 40),
			want: []time.Time{hm(15, 30), hm(16, 30), hm(17, 30)},
		},
		"an interval beside": {
			spec: schedule.Spec{
				Cron: []string{"0 9 * * *"}, Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour), Phase: schedule.Duration(5 * time.Minute)}},
				StartTime: hm(15, 0), EndTime: hm(18, 0),
			}, before: -7, after: -8, changed: hm(16, 40),
			want: []time.Time{hm(15, 5), hm(16, 0), hm(16, 5), hm(17, 5)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := newZoned(t, hm(0, 0), test.spec)
			z.run(hm(0, 1), test.before)
			if !test.woken.IsZero() {
				z.runUntil(test.woken, test.before)
				z.d.Version++ // such as a trigger, which has the record written
				z.run(test.woken, test.before)
			}
			z.runUntil(test.changed, test.before)
			for range 2 { // a repeat is a repeat
				z.run(test.changed, test.after)
			}
			z.runUntil(hm(23, 59), test.after)
			assert.Equal(t, test.want, z.ran)
			if test.reason == "" {
				assert.Empty(t, z.events)
				return
			}
			require.Len(t, z.events, 1)
			assert.Equal(t, schedule.EventReplanned, z.events[0].Kind)
			assert.Contains(t, z.events[0].Reason, test.reason)
		})
	}
}

// TestZoneChangeKeepsEachTime moves a zone at any moment, by one hour, in either direction, there and back: of a schedule that names
// hours each time of the clock on the wall comes once.
func TestZoneChangeKeepsEachTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cron := rapid.SampledFrom([]string{"0 9 * * *", "0,30 9,10 * * *", "*/20 9-11 * * *", "15 */2 * * *"}).Draw(t, "cron")
		rules := rapid.SampledFrom([][]int{{-7, -8}, {-8, -7}, {0, 1}, {1, 0}}).Draw(t, "rules")
		z := newZoned(t, hm(0, 0), schedule.Spec{Cron: []string{cron}})
		z.run(hm(0, 1), rules[0])
		changed := hm(0, 2).Add(time.Duration(rapid.IntRange(3*60, 48*60).Draw(t, "minutes"))*time.Minute + 30*time.Second)
		z.runUntil(changed, rules[0])
		before := len(z.ran)
		z.run(changed, rules[1])
		z.runUntil(changed.AddDate(0, 0, 3), rules[1])

		walls := map[time.Time]int{}
		for i, due := range z.ran {
			hours := rules[0]
			if i >= before {
				hours = rules[1]
			}
			walls[due.Add(time.Duration(hours)*time.Hour)]++
		}
		spec, err := specproc.Compile(schedule.Spec{Cron: []string{cron}})
		require.NoError(t, err)
		from, to := hm(0, 0).Add(time.Duration(rules[0])*time.Hour), changed.AddDate(0, 0, 3).Add(time.Duration(rules[1])*time.Hour)
		for due := range spec.Between(from, to, "") {
			if walls[due.Nominal] != 1 && !sameInstant(z.ran[:before], due.Nominal, rules[1]) {
				t.Fatalf("%v came %d times; changed %v, ran %v", due.Nominal, walls[due.Nominal], changed, z.ran)
			}
			delete(walls, due.Nominal)
		}
		for wall, times := range walls { // by the new rules, the clock may show less than when the schedule was created
			require.True(t, times == 1 && !wall.After(from), "%v came %d times", wall, times)
		}
		require.LessOrEqual(t, len(z.events), 1)
	})
}

// sameInstant reports whether a time of the clock is, by the new rules, an instant at which a run had begun by the old ones: an instant
// has one run.
func sameInstant(ran []time.Time, wall time.Time, hours int) bool {
	for _, due := range ran {
		if due.Equal(wall.Add(-time.Duration(hours) * time.Hour)) {
			return true
		}
	}
	return false
}

// TestZoneOfAnEarlierRelease: its records do not say by what rules they were made.
func TestZoneOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before, after int
		changed       time.Time
		want          time.Time
	}{{-7, -8, hm(16, 30), hm(16, 0)}, {-8, -7, hm(16, 30), hm(16, 0)}, {-8, -7, hm(17, 30), hm(17, 0)}, {-7, -8, hm(12, 0), hm(17, 0)}} {
		z := newZoned(t, hm(0, 0), schedule.Spec{Cron: []string{"0 9 * * *"}})
		z.run(hm(0, 1), test.before)
		z.runUntil(test.changed, test.before)
		z.state.ZoneData, z.state.ZoneRules, z.state.ZoneOffset = "", "", 0
		z.run(test.changed, test.after)
		z.runUntil(hm(23, 59), test.after)
		assert.Equal(t, []time.Time{test.want}, z.ran, "%+v", test)
		assert.Len(t, z.events, 1)
	}
}
