package render_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestEventLine(t *testing.T) {
	t.Parallel()
	due := func(kind schedule.EventKind) schedule.Event {
		return schedule.Event{
			Kind: kind, Time: now.Add(1500 * time.Millisecond), ScheduleID: "tick", Nominal: now, Actual: now.Add(time.Second),
			WorkflowID: "tick-1", Source: schedule.SourceAuto,
		}
	}
	with := func(event schedule.Event, change func(*schedule.Event)) schedule.Event {
		change(&event)
		return event
	}
	asked := func(kind schedule.EventKind) schedule.Event {
		return schedule.Event{Kind: kind, Time: now, ScheduleID: "tick", Identity: "ada@host", Reason: "why"}
	}
	ended := func(status schedule.Status, outcome schedule.Outcome) schedule.Event {
		return with(due(schedule.EventCompleted), func(e *schedule.Event) {
			e.Status, e.Attempt, e.Outcome = status, 1, outcome
			e.CodeTime, e.CloseTime = now.Add(1010*time.Millisecond), now.Add(1055*time.Millisecond)
		})
	}
	span := func(event schedule.Event, count int) schedule.Event {
		event.Count, event.First, event.Last = count, now, now.Add(time.Hour)
		return event
	}
	for name, test := range map[string]struct {
		event schedule.Event
		want  string
	}{
		"started": {due(schedule.EventStarted), "23:30:01.500  started             2026-03-28 23:30:00     500 ms  tick-1"},
		"completed": {
			ended(schedule.StatusCompleted, schedule.Outcome{Result: json.RawMessage(`{"rows": 3}`)}),
			`23:30:01.500  completed           2026-03-28 23:30:00      10 ms  took 45 ms, result {"rows": 3}`,
		},
		"large result": {
			ended(schedule.StatusCompleted, schedule.Outcome{ResultBytes: 5000}),
			"23:30:01.500  completed           2026-03-28 23:30:00      10 ms  took 45 ms, result of 5000 bytes",
		},
		"timed out": {
			with(ended(schedule.StatusTimedOut, schedule.Outcome{Failure: &schedule.Failure{Message: "no\nanswer", Type: "timeout"}}),
				func(e *schedule.Event) { e.Attempt, e.Reason, e.Identity = 3, "no\nanswer", "ada@host" }),
			"23:30:01.500  timed out           2026-03-28 23:30:00      10 ms  took 45 ms, attempt 3, no answer (timeout)",
		},
		"terminated": {
			with(due(schedule.EventCompleted), func(e *schedule.Event) {
				e.Status, e.Failure = schedule.StatusTerminated, &schedule.Failure{Message: "terminated to make room", Type: "terminated"}
			}),
			"23:30:01.500  terminated          2026-03-28 23:30:00             terminated to make room",
		},
		"deferred": {
			with(due(schedule.EventDeferred), func(e *schedule.Event) {
				e.Overlap, e.Reason = schedule.OverlapBufferOne, "waits for a run to end, overlap policy buffer_one"
			}),
			"23:30:01.500  waiting             2026-03-28 23:30:00             waits for a run to end, overlap policy buffer_one",
		},
		"cancel": {
			with(due(schedule.EventCancelRequested), func(e *schedule.Event) { e.Overlap, e.Reason = schedule.OverlapCancelOther, "to make room" }),
			"23:30:01.500  cancel requested    2026-03-28 23:30:00             to make room, overlap policy cancel_other, tick-1",
		},
		"missed": {
			span(schedule.Event{Kind: schedule.EventMissed, Time: now, Reason: "too late", Source: schedule.SourceAuto}, 7),
			"23:30:00.000  missed              -                               " +
				"7 actions of 2026-03-28 23:30:00 to 2026-03-29 00:30:00, too late",
		},
		"one missed": {
			schedule.Event{Kind: schedule.EventMissed, Time: now, Count: 1, First: now, Last: now},
			"23:30:00.000  missed              -                               1 action of 2026-03-28 23:30:00",
		},
		"paused": {asked(schedule.EventPaused), "23:30:00.000  paused              -                               why, by ada@host"},
		"backfill": {
			with(span(asked(schedule.EventBackfillRequested), 0), func(e *schedule.Event) { e.Source = "b-1" }),
			"23:30:00.000  backfill requested  -                               " +
				"2026-03-28 23:30:00 to 2026-03-29 00:30:00, why, as b-1, by ada@host",
		},
		"skip": {
			span(asked(schedule.EventSkipRequested), 2),
			"23:30:00.000  skip requested      -                               " +
				"2 times of 2026-03-28 23:30:00 to 2026-03-29 00:30:00, why, by ada@host",
		},
		"hostile": {
			schedule.Event{Kind: schedule.EventPaused, Time: now, Reason: "a\x1b[2Jb\nc"},
			"23:30:00.000  paused              -                               a\\u001b[2Jb c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := render.EventLines{Layout: render.EventClock, Zone: berlin(t)}
			assert.Equal(t, test.want, lines.Line(&test.event))
			lines.Color = true
			assert.Equal(t, test.want, uncoloured(lines.Line(&test.event)), "colours change nothing but colours")
		})
	}
}

func TestEventsOfSeveralSchedules(t *testing.T) {
	t.Parallel()
	lines := render.EventLines{Layout: render.EventMoment, Zone: time.UTC, Schedule: true, Wide: true}
	event := schedule.Event{
		ID: "e-1", Kind: schedule.EventStarted, Time: now, ScheduleID: "tick", RequestID: "q-1", WorkflowID: "w-1", RunID: "r-1",
		TaskQueue: "default", Nominal: now, Actual: now,
	}
	want := "TIME (UTC)               WHAT                SCHEDULE            NOMINAL                   LATE\n" +
		"2026-03-28 22:30:00.000  started             tick                2026-03-28 22:30:00     0.0 ms  " +
		"w-1  request=q-1 workflow=w-1 run=r-1 queue=default event=e-1"
	assert.Equal(t, want, lines.Header(now)+"\n"+lines.Line(&event))
}

// TestEveryKindOfEventHasAWord makes sure that the words fit their column.
func TestEveryKindOfEventHasAWord(t *testing.T) {
	t.Parallel()
	for _, kind := range schedule.EventKinds() {
		word := render.EventWord(&schedule.Event{Kind: kind})
		assert.NotEmpty(t, word)
		assert.NotContains(t, word, "_")
		assert.LessOrEqual(t, len(word), len("backfill requested"), kind)
	}
	for _, status := range schedule.Statuses() {
		event := schedule.Event{Kind: schedule.EventCompleted, Status: status}
		assert.Equal(t, strings.ReplaceAll(string(status), "_", " "), render.EventWord(&event))
	}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := schedule.LoadZone("Europe/Berlin")
	assert.NoError(t, err)
	return zone
}
