package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func updateBody(id, more string) string {
	return fmt.Sprintf(`{"id":%q,"spec":{"intervals":[{"every":"2h"}]},"action":{"type":"other","taskQueue":"p"}%s}`, id, more)
}

func TestUpdateReplacesWakesAndTells(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", `,"state":{"notes":"first"}`)
	before := in.definition("nightly")
	updated, err := answerTo[schedule.Description](in, "ann@desk", "update", updateBody("nightly",
		`,"state":{"notes":"second","limitedActions":true,"remainingActions":3},"requestId":"r1","conflictToken":1`))
	require.NoError(t, err)
	assert.Equal(t, uint64(2), updated.ConflictToken)
	assert.Equal(t, "other", updated.Action.Type)
	assert.Equal(t, 3, updated.State.RemainingActions)

	want, got := before, in.definition("nightly")
	want.Version, want.LimitVersion, want.UpdateTime = 2, 2, got.UpdateTime
	want.Schedule = updated.Schedule
	want.Applied = []wire.AppliedRequest{{RequestID: "r1", Version: 2}}
	want.Events = in.told("nightly", schedule.EventCreated, schedule.EventUpdated)
	assert.Equal(t, want, got)
	assert.False(t, got.UpdateTime.Before(got.CreateTime))
	assert.Equal(t, got.UpdateTime, updated.Info.UpdateTime)

	wake := &wire.Wake{Incarnation: before.Incarnation, Version: 2, Reason: wire.ReasonUpdated, Told: true}
	assert.Equal(t, wake, in.wake("nightly", in.generateWake("nightly", 2)))
	assert.Nil(t, in.task("nightly", in.guard("nightly", 2)))
	count, event := in.events("nightly", schedule.EventUpdated)
	assert.Equal(t, uint64(1), count)
	assert.Equal(t, before.Incarnation+"-updated-2", event.ID)
	assert.Equal(t, "ann@desk", event.Identity)
	assert.Equal(t, "r1", event.RequestID)
}

func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err)
	before := in.definition("nightly")
	for _, test := range []struct {
		name, body     string
		code           schedule.Code
		field, message string
	}{
		{"a stale token", updateBody("nightly", `,"conflictToken":1`), "failed_precondition", "conflictToken", "is at 2: describe it again"},
		{"a token from elsewhere", updateBody("nightly", `,"conflictToken":3`), "failed_precondition", "conflictToken", "is at 2"},
		{"an unknown schedule", updateBody("x", ""), "not_found", "id", `"x"`},
		{"a named calendar", strings.Replace(updateBody("nightly", ""), `{"intervals"`, `{"excludeCalendarsNamed":["holidays"],"intervals"`, 1),
			"invalid_argument", "spec.excludeCalendarsNamed[0]", "holidays"},
		{"no action", `{"id":"nightly"}`, "invalid_argument", "action.type", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := answer[schedule.Description](in, "update", test.body)
			var e *schedule.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, test.code, e.Code)
			assert.Equal(t, test.field, e.Field)
			assert.Contains(t, e.Message, test.message)
			assert.Equal(t, before, in.definition("nightly"))
			assert.Nil(t, in.task("nightly", in.guard("nightly", 3)))
		})
	}
	_, err = answer[schedule.Description](in, "update", updateBody("nightly", `,"conflictToken":2`))
	assert.NoError(t, err)
	_, err = answer[schedule.Description](in, "update", updateBody("nightly", ""))
	assert.NoError(t, err, "without a token whatever there is")
}

// Of many callers that have read the same version, one succeeds.
func TestOfConcurrentUpdatesOneWins(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.run(patient) // a second frontend
	in.create("nightly", "")
	const all = 16
	results := make(chan error, all)
	var running sync.WaitGroup
	for range all {
		running.Go(func() {
			_, err := answer[schedule.Description](in, "update", updateBody("nightly", `,"conflictToken":1`))
			results <- err
		})
	}
	running.Wait()
	close(results)
	won := 0
	for err := range results {
		if err == nil {
			won++
			continue
		}
		assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	}
	assert.Equal(t, 1, won)
	assert.Equal(t, uint64(2), in.definition("nightly").Version)
}

func TestDeleteTakesAConflictToken(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err)
	_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly","conflictToken":1}`)
	require.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	assert.ErrorContains(t, err, "is at 2")
	_, err = answerTo[schedule.Empty](in, "ann@desk", "delete", `{"id":"nightly","conflictToken":2,"requestId":"r1"}`)
	require.NoError(t, err)
	_, event := in.events("nightly", schedule.EventDeleted)
	assert.Equal(t, "ann@desk", event.Identity)
	assert.Equal(t, "r1", event.RequestID)
}

// changes are requests that change a definition, each with another request ID in place of %s.
var changes = map[string]string{
	"update":  `{"id":"nightly","action":{"type":"other","taskQueue":"p"},"state":{"paused":true},"conflictToken":1,"requestId":%q}`,
	"patch":   `{"id":"nightly","pause":{"note":"x"},"trigger":{},"skip":{"count":2},"conflictToken":1,"requestId":%q}`,
	"pause":   `{"id":"nightly","requestId":%q}`,
	"unpause": `{"id":"nightly","requestId":%q}`,
	"skip":    `{"id":"nightly","count":2,"requestId":%q}`,
	"unskip":  `{"id":"nightly","requestId":%q}`,
}

func TestRepeatedChangesChangeNothing(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for verb, body := range changes {
		t.Run(verb, func(t *testing.T) {
			in.create("nightly", "")
			first := in.ask("default", verb, fmt.Sprintf(body, "r1"))
			require.Empty(t, first.Header.Get("Nats-Service-Error"))
			after := in.definition("nightly")
			history := in.history("nightly")
			again := in.ask("default", verb, fmt.Sprintf(body, "r1"))
			assert.JSONEq(t, string(first.Data), string(again.Data))
			assert.Equal(t, after, in.definition("nightly"))
			assert.Equal(t, history, in.history("nightly"))

			// This also holds if another change came between.
			_, err := answer[schedule.Empty](in, "pause", `{"id":"nightly","note":"between"}`)
			require.NoError(t, err)
			after = in.definition("nightly")
			again = in.ask("default", verb, fmt.Sprintf(body, "r1"))
			require.Empty(t, again.Header.Get("Nats-Service-Error"))
			assert.Equal(t, after, in.definition("nightly"))
			_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
			require.NoError(t, err)
		})
	}
}

func TestConcurrentRepeatsCountOnce(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.run(patient) // a second frontend
	for verb, body := range changes {
		t.Run(verb, func(t *testing.T) {
			in.create("nightly", "")
			var running sync.WaitGroup
			for range 8 {
				running.Go(func() {
					_, err := answer[schedule.Empty](in, verb, fmt.Sprintf(body, "r1"))
					var e *schedule.Error
					assert.False(t, errors.As(err, &e), "%v", err)
				})
			}
			running.Wait()
			def := in.definition("nightly")
			assert.Equal(t, uint64(2), def.Version)
			assert.Len(t, def.Applied, 1)
			assert.LessOrEqual(t, len(def.Requests), 1)
			assert.LessOrEqual(t, len(def.Skips), 2)
			_, err := answer[schedule.Empty](in, "delete", `{"id":"nightly"}`)
			require.NoError(t, err)
		})
	}
}

// If the frontend died after the write, a repeat of the request wakes the generator without waiting for the guard.
func TestRepeatWakesAgain(t *testing.T) {
	t.Parallel()
	in := install(t)
	crash := false
	in.run(hook(func(_ context.Context, m *nats.Msg) error {
		if crash && strings.Contains(m.Subject, "."+subjects.WhatWake) {
			return errors.New("crash")
		}
		return nil
	}))
	in.create("nightly", "")
	crash = true
	const body = `{"id":"nightly","requestId":"r1"}`
	_, err := answer[schedule.Empty](in, "pause", body)
	require.NoError(t, err)
	require.Nil(t, in.task("nightly", in.generateWake("nightly", 2)))
	crash = false
	_, err = answer[schedule.Empty](in, "pause", body)
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the generator is woken", func() bool {
		return in.wake("nightly", in.generateWake("nightly", 2)) != nil
	})
	assert.Nil(t, in.task("nightly", in.guard("nightly", 2)))
}
