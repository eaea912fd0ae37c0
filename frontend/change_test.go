package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestPauseAndUnpause(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	before, told := in.definition("nightly"), []schedule.EventKind{schedule.EventCreated}
	for i, test := range []struct {
		verb   string
		note   string
		paused bool
		reason wire.Reason
		kind   schedule.EventKind
		notes  string
	}{
		{"pause", "holidays", true, wire.ReasonPaused, schedule.EventPaused, "holidays"},
		{"pause", "", true, wire.ReasonPaused, schedule.EventPaused, "holidays"},
		{"unpause", "back", false, wire.ReasonUnpaused, schedule.EventUnpaused, "back"},
	} {
		version := uint64(i + 2)
		_, err := answerTo[schedule.Empty](in, "ann@desk", test.verb, fmt.Sprintf(`{"id":"nightly","note":%q}`, test.note))
		require.NoError(t, err)

		want, got := before, in.definition("nightly")
		want.Version, want.Schedule.State = version, schedule.State{Paused: test.paused, Notes: test.notes}
		assert.Equal(t, test.paused, got.ActiveSince.IsZero())
		assert.Equal(t, test.paused, got.PausedBy == "ann@desk")
		assert.Equal(t, test.paused, !got.PauseTime.IsZero())
		got.ActiveSince, got.PausedBy, got.PauseTime = time.Time{}, "", time.Time{}
		told = append(told, test.kind)
		want.Events = in.told("nightly", told...)
		assert.Equal(t, want, got)
		assert.Equal(t,
			&wire.Wake{Incarnation: before.Incarnation, Version: version, Reason: test.reason, Told: true},
			in.wake("nightly", in.generateWake("nightly", version)))
		assert.Nil(t, in.task("nightly", in.guard("nightly", version)))
		_, event := in.events("nightly", test.kind)
		assert.Equal(t, fmt.Sprintf("%s-%s-%d", before.Incarnation, test.kind, version), event.ID)
		assert.Equal(t, test.note, event.Reason)
		assert.Equal(t, "ann@desk", event.Identity)
	}
}

// TestTimesOfAPausedSchedule: a description and a list say when a paused schedule would be due. No generator runs here, and none would wake
// for it.
func TestTimesOfAPausedSchedule(t *testing.T) {
	t.Parallel()
	in := installed(t)
	const day = 24 * time.Hour
	first := time.Now().Truncate(time.Second).Add(day / 2)
	daily := fmt.Sprintf(`{"intervals":[{"every":"24h","phase":%q}]}`, first.Sub(first.Truncate(day)))
	for _, c := range []struct{ id, spec, state string }{
		{"daily", daily, `{"paused":true}`},
		{"three", daily, `{"paused":true,"limitedActions":true,"remainingActions":3}`},
		{"never", `{}`, `{"paused":true}`},
		{"runs", daily, `{}`},
	} {
		body := fmt.Sprintf(`{"id":%q,"spec":%s,"state":%s,"action":{"type":"http","taskQueue":"q"}}`, c.id, c.spec, c.state)
		_, err := answer[schedule.Description](in, "create", body)
		require.NoError(t, err)
	}
	_, err := answer[schedule.Description](in, "skip", fmt.Sprintf(`{"id":"daily","times":[%q]}`, first.Add(day).UTC().Format(time.RFC3339)))
	require.NoError(t, err)
	want := map[string][]time.Time{"three": {first, first.Add(day), first.Add(2 * day)}}
	for i := range 10 {
		want["daily"] = append(want["daily"], first.Add(time.Duration(i+min(i, 1))*day))
	}
	list, err := answer[schedule.ListReply](in, "list", `{}`)
	require.NoError(t, err)
	require.Len(t, list.Schedules, 4)
	for _, listed := range list.Schedules {
		described, err := answer[schedule.Description](in, "describe", fmt.Sprintf(`{"id":%q}`, listed.ID))
		require.NoError(t, err)
		assert.Equal(t, listed.Info.FutureActionTimes, described.Info.FutureActionTimes, listed.ID)
		require.Len(t, listed.Info.FutureActionTimes, len(want[listed.ID]), listed.ID)
		for i, next := range listed.Info.FutureActionTimes {
			assert.True(t, next.Equal(want[listed.ID][i]), "%s: %s", listed.ID, next)
		}
	}
}

func TestConcurrentChangesAllCount(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.run(patient) // a second frontend
	in.create("nightly", "")
	const each = 20
	var running sync.WaitGroup
	for i := range 2 * each {
		running.Go(func() {
			verb := []string{"pause", "unpause"}[i%2]
			_, err := answer[schedule.Empty](in, verb, fmt.Sprintf(`{"id":"nightly","note":"%d"}`, i))
			assert.NoError(t, err)
		})
	}
	running.Wait()
	assert.Equal(t, uint64(1+2*each), in.definition("nightly").Version)
	paused, _ := in.events("nightly", schedule.EventPaused)
	unpaused, _ := in.events("nightly", schedule.EventUnpaused)
	assert.Equal(t, uint64(2*each), paused+unpaused)
}

func TestGuardWakesTheGeneratorAfterACrashOfAPause(t *testing.T) {
	t.Parallel()
	in := install(t)
	crash := false
	in.run(shortGuard, hook(func(_ context.Context, m *nats.Msg) error {
		if crash && strings.Contains(m.Subject, "."+subjects.WhatWake) {
			return errors.New("crash")
		}
		return nil
	}))
	in.create("nightly", "")
	crash = true
	_, err := answer[schedule.Empty](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the guard fires", func() bool {
		return in.task("nightly", in.generateGuard("nightly", 2)) != nil
	})
	incarnation := in.definition("nightly").Incarnation
	assert.Equal(t, &wire.Wake{Incarnation: incarnation, Version: 2, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(shortGuardDelay)},
		in.wake("nightly", in.generateGuard("nightly", 2)))
}

// TestTheGuardOfADeletionOutlivesTheNextCreate: only that guard names what was deleted, and nobody else was woken.
func TestTheGuardOfADeletionOutlivesTheNextCreate(t *testing.T) {
	t.Parallel()
	in := install(t)
	var crash atomic.Bool
	in.run(shortGuard, hook(func(_ context.Context, m *nats.Msg) error {
		if crash.Load() && m.Header.Get(task.HeaderAt) == "" && strings.Contains(m.Subject, ".task.") {
			return errors.New("crash")
		}
		return nil
	}))
	in.create("nightly", "")
	deleted := in.definition("nightly")
	crash.Store(true)
	_, err := answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
	require.NoError(t, err)
	in.create("nightly", "")
	created := in.definition("nightly")
	for version, incarnation := range map[uint64]string{deleted.Version + 1: deleted.Incarnation, created.Version: ""} {
		subject := in.generateGuard("nightly", version)
		natstest.Eventually(t, patience, "the guard fires", func() bool { return in.task("nightly", subject) != nil })
		assert.Equal(t, incarnation, in.wake("nightly", subject).Incarnation, version)
	}
}

func TestDeleteWakesWhoeverMustCleanUp(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	trigger, err := answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.NoError(t, err)
	def := in.definition("nightly")

	_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly","runs":"terminate"}`)
	require.NoError(t, err)
	_, err = kv.GetLeader(t.Context(), in.store, kv.Definition(in.key("nightly")))
	require.ErrorIs(t, err, kv.ErrNotFound)

	want := &wire.Wake{Incarnation: def.Incarnation, Version: def.Version + 1, Reason: wire.ReasonDeleted}
	shard := in.store.ShardOf(in.key("nightly"))
	// The trace of the definition says what happens to its runs, until another schedule with the ID takes its place.
	forget := *want
	forget.Runs = schedule.RunsTerminate
	assert.Equal(t, &forget, in.wake("nightly", in.names.InvokeDeleted(shard, in.key("nightly"))))
	assert.Equal(t, want, in.wake("nightly", in.backfill("nightly", trigger.TriggerID)))
	want.Told = true
	assert.Equal(t, want, in.wake("nightly", in.generateWake("nightly", want.Version)))
	assert.Nil(t, in.task("nightly", in.guard("nightly", def.Version+1)))
	count, _ := in.events("nightly", schedule.EventDeleted)
	assert.Equal(t, uint64(1), count)
}

func TestDeleteThenCreateIsAnotherSchedule(t *testing.T) {
	t.Parallel()
	in := installed(t)
	seen := map[string]bool{}
	for range 5 {
		in.create("nightly", `,"requestId":"r1"`)
		def := in.definition("nightly")
		assert.False(t, seen[def.Incarnation])
		assert.Equal(t, uint64(1), def.Version)
		seen[def.Incarnation] = true
		_, err := answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
		require.NoError(t, err)
		_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
	}
}

func TestDeletesAndChangesAtTheSameTime(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.create("nightly", "")
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			if _, err := answer[schedule.Empty](in, "pause", `{"id":"nightly"}`); err != nil {
				assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
			}
		})
	}
	running.Go(func() {
		_, err := answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
		assert.NoError(t, err)
	})
	running.Wait()
	_, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
}
