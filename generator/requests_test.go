package generator

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestSkips(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	d.Skips = []time.Time{at(2 * time.Minute), at(5 * time.Minute)}
	d.Schedule.State = schedule.State{LimitedActions: true, RemainingActions: 3}
	in := with(input(t, d, at(3*time.Minute)), at(time.Minute))
	in.Remaining = 3
	got := Decide(in)
	require.Equal(t, []time.Time{at(2 * time.Minute), at(3 * time.Minute)}, nominals(got.HandOff))
	require.True(t, got.HandOff.Starts[0].Skip)
	require.False(t, got.HandOff.Starts[1].Skip)
	require.Equal(t, at(4*time.Minute), got.State.Next)
	require.Equal(t, []time.Time{at(4 * time.Minute), at(6 * time.Minute)}, got.State.Future, "one action is taken, one time left out")

	in = with(input(t, d, at(4*time.Minute)), at(3*time.Minute))
	in.Remaining = 2
	require.Equal(t, at(5*time.Minute), Decide(in).State.Next, "a time to skip is seen when it comes, to be counted")
}

// An update that adds jitter moves the actual time of what has just run into the future.
func TestUpdateOfTheJitterRunsNothingTwice(t *testing.T) {
	t.Parallel()
	d := every(time.Hour)
	ran := Decide(with(input(t, d, at(time.Hour)), at(0)))
	require.Equal(t, []time.Time{at(time.Hour)}, nominals(ran.HandOff))
	require.Equal(t, at(time.Hour), ran.State.LastNominal)

	updated := *d
	updated.Version, updated.UpdateTime = 2, at(time.Hour+time.Second)
	updated.Schedule.Spec.Jitter = schedule.Duration(time.Hour)
	in := input(t, &updated, at(time.Hour+2*time.Second))
	in.State = ran.State
	jittered, ok := in.Spec.NextDue(in.Now, updated.JitterSeed())
	require.True(t, ok)
	require.Equal(t, at(time.Hour), jittered.Nominal, "its time would come again")
	got := Decide(in)
	require.Nil(t, got.HandOff)
	require.True(t, got.State.Next.After(jittered.Actual))
	require.Equal(t, in.Now, got.State.Mark, "an update to come may give times before that")

	in.State, in.Now = got.State, jittered.Actual.Add(time.Second)
	require.Nil(t, Decide(in).HandOff)

	updated.Version, updated.UpdateTime = 3, at(time.Hour+3*time.Second)
	updated.Schedule.Spec = every(time.Minute).Schedule.Spec
	in = input(t, &updated, at(time.Hour+2*time.Minute))
	in.State = got.State
	require.Equal(t, []time.Time{at(time.Hour + time.Minute), at(time.Hour + 2*time.Minute)}, nominals(Decide(in).HandOff))
}

// TestNoNominalTimeTwice changes a schedule at random while a clock goes on, now and then back.
func TestNoNominalTimeTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := every(time.Minute)
		now, state := created, wire.GeneratorState{}
		seen := map[time.Time]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-30, 600).Draw(t, "seconds")) * time.Second)
			if rapid.Bool().Draw(t, "update") {
				next := *d
				next.Version, next.UpdateTime = d.Version+1, now
				unit := time.Duration(rapid.SampledFrom([]int{1, 7, 60, 90, 600}).Draw(t, "every")) * time.Second
				next.Schedule.Spec.Intervals = []schedule.Interval{{Every: schedule.Duration(unit)}}
				next.Schedule.Spec.Jitter = schedule.Duration(rapid.IntRange(0, 900).Draw(t, "jitter")) * schedule.Duration(time.Second)
				d = &next
			}
			in := input(t, d, now)
			in.State = state
			got := Decide(in)
			if got.HandOff != nil {
				for _, s := range got.HandOff.Starts {
					require.False(t, seen[s.Nominal], "%s twice", s.Nominal)
					seen[s.Nominal] = true
				}
			}
			require.False(t, got.State.Mark.Before(state.Mark), "the mark went back")
			if got.Changed {
				state = got.State
			}
		}
	})
}

func TestSpansOfWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	d.Schedule.Policies = schedule.Policies{CatchupWindow: schedule.Duration(10 * time.Minute), CatchupMode: schedule.CatchupLatest}
	got := Decide(with(input(t, d, at(60*time.Minute+30*time.Second)), at(0)))
	require.Equal(t, wire.Span{From: at(time.Minute), To: at(50 * time.Minute)}, got.HandOff.MissedSpan)
	require.Equal(t, 50, got.HandOff.Missed)
	require.Equal(t, wire.Span{From: at(51 * time.Minute), To: at(59 * time.Minute)}, got.HandOff.SupersededSpan)
	require.Zero(t, got.HandOff.DroppedSpan)
	require.Equal(t, at(60*time.Minute), got.State.LastNominal)
}

func TestRequestsOfAVersion(t *testing.T) {
	t.Parallel()
	d := once() // nothing is due: only its requests keep it from closing
	d.Version = 3
	for version := range uint64(4) {
		d.Requests = append(d.Requests, wire.BackfillState{Incarnation: "i", ID: string(rune('a' + version)), Version: version})
	}
	d.Requests = append(d.Requests, wire.BackfillState{Incarnation: "j", ID: "z", Version: 3})
	in := input(t, d, at(30*24*time.Hour))
	in.State = wire.GeneratorState{Incarnation: "i", Version: 1, Mark: at(0), HandedOff: at(0)}
	got := Decide(in)
	ids := []string{}
	for _, r := range got.Requests {
		ids = append(ids, r.ID)
	}
	require.Equal(t, []string{"c", "d"}, ids)
	require.True(t, got.Updated)
	require.True(t, got.Changed)
	require.False(t, got.Close)
	in.State = got.State
	got = Decide(in)
	require.Empty(t, got.Requests)
	require.False(t, got.Updated)
}

// TestEventsOfAVersion are stored until the record says that its version has been seen.
func TestEventsOfAVersion(t *testing.T) {
	t.Parallel()
	d := once()
	d.Version = 3
	for version := range uint64(4) {
		event := schedule.Event{ID: string(rune('a' + version)), Kind: schedule.EventPaused}
		d.Events = append(d.Events, wire.DefinitionEvent{Version: version, Event: event})
	}
	in := input(t, d, at(0))
	in.State = wire.GeneratorState{Incarnation: "i", Version: 1, Mark: at(0), HandedOff: at(0)}
	got := Decide(in)
	require.Equal(t, []schedule.Event{d.Events[2].Event, d.Events[3].Event}, got.Events)
	require.True(t, got.Changed)
	in.Told = []uint64{2}
	require.Equal(t, []schedule.Event{d.Events[3].Event}, Decide(in).Events, "the other is stored already")
	in.Told = nil
	in.State = got.State
	require.Empty(t, Decide(in).Events)
}

// TestToldOfAnotherSchedule: a wake may be about an earlier one of the same ID, whose versions have the same numbers.
func TestToldOfAnotherSchedule(t *testing.T) {
	t.Parallel()
	told := toldBy(&wire.Definition{Incarnation: "i"}, []wire.Wake{
		{Incarnation: "earlier", Version: 1, Told: true}, {Incarnation: "i", Version: 2, Told: true}, {Incarnation: "i", Version: 3},
		{Version: 4, Told: true}, {Incarnation: "i", Version: 5, Told: true},
	})
	require.Equal(t, []uint64{2, 5}, told)
}

// TestEventsOfAFrontendThatDied: whoever wrote the definition, and whoever deleted it, has stored no event.
func TestEventsOfAFrontendThatDied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.pool())
	key := keyOf("hourly")
	d := wire.Definition{
		Namespace: key.Namespace, ID: key.ID, Incarnation: "i", Version: 1, CreateTime: time.Now(),
		Schedule: schedule.Schedule{Spec: seconds(3600), Action: schedule.Action{Type: "noop", TaskQueue: "q"}},
		Events: []wire.DefinitionEvent{{Version: 1, Event: schedule.Event{
			ID: "i-created-1", Time: time.Now().UTC(), Namespace: key.Namespace, ScheduleID: key.ID,
			Kind: schedule.EventCreated, Identity: "ann",
		}}},
	}
	revision, err := kv.Put(t.Context(), b.store, kv.Definition(key), &d, 0)
	require.NoError(t, err)
	last := func(kind schedule.EventKind) string {
		message, err := natstest.Bus(t, b.js).Last(t.Context(), b.names.EventStream(), b.names.Event(key, kind))
		if errors.Is(err, bus.ErrNone) {
			return ""
		}
		require.NoError(t, err)
		return message.Header.Get(nats.MsgIdHdr)
	}
	b.wake(key.ID, wire.Wake{Version: 1, Reason: wire.ReasonGuard})
	b.eventually("the creation is in the history", func() bool { return last(schedule.EventCreated) == "i-created-1" })
	// Who writes a first record looks at the definition once more. It would meet the deletion, and the record would go before the wake comes.
	b.eventually("the wake is settled", func() bool { return len(b.subjects(b.names.Generate(0, key, "*"))) == 0 })
	_, exists := b.state(key.ID)
	require.True(t, exists)

	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(key), revision))
	b.wake(key.ID, wire.Wake{Version: 2, Reason: wire.ReasonGuard})
	b.eventually("so is the deletion", func() bool { return last(schedule.EventDeleted) == "i-deleted" })
}

// TestADeletionIsLeftToWhoMadeIt: while its guard stands, nothing else that wakes the generator makes it forget the schedule.
func TestADeletionIsLeftToWhoMadeIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	key, incarnation := keyOf("s"), d.Value.Incarnation
	p := b.pool()
	b.handle(p, "s", wire.Wake{Incarnation: incarnation, Version: 1, Reason: wire.ReasonCreated})
	guard := b.names.GuardTimer(0, key, 2)
	require.NoError(t, task.Arm(t.Context(), natstest.Bus(t, b.js), guard, b.names.Generate(0, key, subjects.WhatGuard),
		time.Now().Add(time.Hour), &wire.Wake{Version: 2, Reason: wire.ReasonGuard}))
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(key), d.Revision))

	b.handle(p, "s", wire.Wake{Incarnation: incarnation, Version: 1, Reason: wire.ReasonDue})
	b.handle(p, "s", wire.Wake{Version: 1, Reason: wire.ReasonGuard})
	_, exists := b.state("s")
	require.True(t, exists)
	require.Zero(t, b.told(key, schedule.EventDeleted))

	require.NoError(t, natstest.Bus(t, b.js).Purge(t.Context(), b.names.TaskStream(0), guard))
	b.handle(p, "s", wire.Wake{Version: 2, Reason: wire.ReasonGuard})
	_, exists = b.state("s")
	require.False(t, exists)
	require.Equal(t, 1, b.told(key, schedule.EventDeleted))
	b.handle(p, "s", wire.Wake{Version: 2, Reason: wire.ReasonGuard})
	require.Equal(t, 1, b.told(key, schedule.EventDeleted))
}

// TestGuardOfAChangeThatIsStillToCome: a guard that fires before the definition is written takes along the one that a repeat of the
// request has just armed.
func TestGuardOfAChangeThatIsStillToCome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		exists bool
		guard  wire.Wake
		again  bool
	}{
		"create":            {guard: wire.Wake{Version: 1}, again: true},
		"created":           {exists: true, guard: wire.Wake{Version: 1}},
		"update, or delete": {exists: true, guard: wire.Wake{Incarnation: "of-s", Version: 2}, again: true},
		"deleted":           {guard: wire.Wake{Incarnation: "of-s", Version: 2}},
		"replaced":          {exists: true, guard: wire.Wake{Incarnation: "before-s", Version: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if test.exists {
				b.define("s", seconds(3600))
			}
			guard := test.guard
			guard.Reason, guard.GuardAgain = wire.ReasonGuard, schedule.Duration(time.Hour)
			b.handle(b.pool(), "s", guard)
			armed := b.last(b.names.GuardTimer(0, keyOf("s"), guard.Version))
			require.Equal(t, test.again, armed != nil)
			if !test.again {
				return
			}
			var wake wire.Wake
			require.NoError(t, codec.Unmarshal(armed.Data, &wake))
			guard.GuardAgain = 0
			require.Equal(t, guard, wake, "once more, and not for ever")
			require.NoError(t, natstest.Bus(t, b.js).Purge(t.Context(), b.names.TaskStream(0), armed.Subject))
			b.handle(b.pool(), "s", wake)
			require.Nil(t, b.last(armed.Subject))
		})
	}
}

// TestADeletionIsToldOnce, whoever tells of it, and not at all of a schedule that has been closed.
func TestADeletionIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored schedule.EventKind
		ids    []string
		wake   wire.Wake
		want   int
	}{
		"nobody has":                    {wake: wire.Wake{Reason: wire.ReasonDeleted}, want: 1},
		"nobody has, and it is due":     {wake: wire.Wake{Reason: wire.ReasonDue}, want: 1},
		"the wake says so":              {wake: wire.Wake{Reason: wire.ReasonDeleted, Told: true}},
		"the wake is of an earlier one": {wake: wire.Wake{Incarnation: "earlier", Reason: wire.ReasonDeleted, Told: true}, want: 1},
		"the history says so": {
			stored: schedule.EventDeleted, ids: []string{wire.DeletedEventID("of-s")}, wake: wire.Wake{Reason: wire.ReasonDeleted}, want: 1,
		},
		"it was deleted, and so were later ones": {
			stored: schedule.EventDeleted, ids: []string{wire.DeletedEventID("of-s"), wire.DeletedEventID("next"), wire.DeletedEventID("last")},
			wake: wire.Wake{Reason: wire.ReasonGuard}, want: 3,
		},
		"it was closed": {
			stored: schedule.EventClosed, ids: []string{wire.ClosedEventID("of-s")}, wake: wire.Wake{Reason: wire.ReasonDue},
		},
		"it was closed, and so was the next one": {
			stored: schedule.EventClosed, ids: []string{wire.ClosedEventID("of-s"), wire.ClosedEventID("next")},
			wake: wire.Wake{Reason: wire.ReasonGuard},
		},
		"an earlier one was closed": {
			stored: schedule.EventClosed, ids: []string{wire.ClosedEventID("earlier")}, wake: wire.Wake{Reason: wire.ReasonDue}, want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			d := b.define("s", seconds(3600))
			key, incarnation := keyOf("s"), d.Value.Incarnation
			require.Equal(t, "of-s", incarnation)
			p := b.pool()
			b.handle(p, "s", wire.Wake{Incarnation: incarnation, Version: 1, Reason: wire.ReasonCreated})
			require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(key), d.Revision))
			for _, id := range test.ids {
				require.NoError(t, p.events.Publish(t.Context(), schedule.Event{
					ID: id, Time: time.Now(), Namespace: key.Namespace, ScheduleID: key.ID, Kind: test.stored,
				}))
			}
			wake := test.wake
			wake.Version = 2
			if wake.Incarnation == "" {
				wake.Incarnation = incarnation
			}
			b.handle(p, "s", wake)
			_, exists := b.state("s")
			require.False(t, exists)
			require.Equal(t, test.want, b.told(key, schedule.EventDeleted))
		})
	}
}

// TestADeletionIsToldOfByTheNextSchedule: who deleted the one before did not live to tell, and its guard is late.
func TestADeletionIsToldOfByTheNextSchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	key := keyOf("s")
	p := b.pool()
	b.handle(p, "s", wire.Wake{Incarnation: d.Value.Incarnation, Version: 1, Reason: wire.ReasonCreated})
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(key), d.Revision))
	next := d.Value
	next.Incarnation = "next"
	_, err := kv.Put(t.Context(), b.store, kv.Definition(key), &next, 0)
	require.NoError(t, err)
	b.handle(p, "s", wire.Wake{Incarnation: "next", Version: 1, Reason: wire.ReasonCreated})
	state, _ := b.state("s")
	require.Equal(t, "next", state.Incarnation)
	require.Equal(t, 1, b.told(key, schedule.EventDeleted))
	b.handle(p, "s", wire.Wake{Version: 2, Reason: wire.ReasonGuard})
	require.Equal(t, 1, b.told(key, schedule.EventDeleted))
}

// told counts the events of a kind.
func (b *testBundle) told(key schedule.Key, kind schedule.EventKind) int {
	b.Helper()
	stream, err := b.js.Stream(b.Context(), b.names.EventStream())
	require.NoError(b, err)
	info, err := stream.Info(b.Context(), jetstream.WithSubjectFilter(b.names.Event(key, kind)))
	require.NoError(b, err)
	return int(info.State.Subjects[b.names.Event(key, kind)])
}

// TestRequestsBecomeRecords once, however often the definition is looked at.
func TestRequestsBecomeRecords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := *every(time.Hour)
	d.Requests = []wire.BackfillState{{
		Incarnation: "i", ID: "t1", Version: 1, RequestTime: created, Trigger: &schedule.Trigger{Note: "with the patch"},
	}}
	definition, err := kv.Put(t.Context(), b.store, kv.Definition(d.Key()), &d, 0)
	require.NoError(t, err)
	p := b.pool()
	ctx := t.Context()
	_, err = p.transition(ctx, &attempt{key: d.Key(), again: true})
	require.NoError(t, err)
	record, err := kv.GetLeader(ctx, b.store, kv.Backfill(d.Key(), "t1"))
	require.NoError(t, err)
	require.Equal(t, d.Requests[0], record.Value)
	stream, err := b.js.Stream(ctx, b.names.TaskStream(0))
	require.NoError(t, err)
	_, err = stream.GetLastMsgForSubject(ctx, b.names.Backfill(0, d.Key(), "t1"))
	require.NoError(t, err, "the backfiller is woken")

	// It is done, and an attempt that was cut short is repeated.
	require.NoError(t, kv.Delete(ctx, b.store, kv.Backfill(d.Key(), "t1"), record.Revision))
	state, err := kv.GetLeader(ctx, b.store, kv.Generator(d.Key()))
	require.NoError(t, err)
	require.NoError(t, kv.Delete(ctx, b.store, kv.Generator(d.Key()), state.Revision))
	_, err = p.transition(ctx, &attempt{key: d.Key(), again: true})
	require.NoError(t, err)
	_, err = kv.GetLeader(ctx, b.store, kv.Backfill(d.Key(), "t1"))
	require.ErrorIs(t, err, kv.ErrNotFound, "what is done is not done again")

	d.Version++
	_, err = kv.Put(ctx, b.store, kv.Definition(d.Key()), &d, definition)
	require.NoError(t, err)
	_, err = p.transition(ctx, &attempt{key: d.Key(), again: true})
	require.NoError(t, err)
	_, err = stream.GetLastMsgForSubject(ctx, b.names.InvokeWake(0, d.Key()))
	require.NoError(t, err, "the invoker sees each change")
}
