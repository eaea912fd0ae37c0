package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestBackfillFates(t *testing.T) {
	t.Parallel()
	event := func(kind schedule.EventKind, request string) schedule.Event {
		return schedule.Event{Kind: kind, RequestID: request, Source: "b"}
	}
	ended := func(request string, status schedule.Status) schedule.Event {
		e := event(schedule.EventCompleted, request)
		e.Status = status
		return e
	}
	other := ended("x", schedule.StatusFailed)
	other.Source = schedule.SourceAuto
	deleted := schedule.Event{Kind: schedule.EventDeleted}
	requested := event(schedule.EventBackfillRequested, "request")
	for name, test := range map[string]struct {
		events  []schedule.Event
		total   int
		known   int
		deleted bool
		text    string
		err     string
	}{
		"nothing due": {events: []schedule.Event{requested}, text: "nothing is due in the range: no runs were started"},
		"all completed": {
			events: []schedule.Event{requested, ended("1", schedule.StatusCompleted), ended("2", schedule.StatusCompleted)},
			total:  2, known: 2, text: "all ended: 2 times, 2 completed",
		},
		"begun is not ended": {
			events: []schedule.Event{requested, event(schedule.EventStarted, "1")}, total: 1,
			text: "1 time, 1 unknown to the event history",
			err:  "1 of 1 time did not complete: 1 unknown to the event history",
		},
		"a repeat counts once, and other sources do not": {
			events: []schedule.Event{requested, other, ended("1", schedule.StatusCompleted), ended("1", schedule.StatusCompleted)},
			total:  1, known: 1, text: "all ended: 1 time, 1 completed",
		},
		"every fate": {
			events: []schedule.Event{
				event(schedule.EventMissed, "8"), event(schedule.EventDropped, "7"), event(schedule.EventSkipped, "6"),
				ended("5", schedule.StatusTerminated), ended("4", schedule.StatusCanceled), ended("3", schedule.StatusTimedOut),
				ended("2", schedule.StatusFailed), ended("1", schedule.StatusCompleted),
			},
			total: 8, known: 8,
			text: "all ended: 8 times, 1 completed, 1 failed, 1 timed out, 1 canceled, 1 terminated, 1 skipped, 1 dropped, 1 missed",
			err:  "7 of 8 times did not complete: 1 failed, 1 timed out, 1 canceled, 1 terminated, 1 skipped, 1 dropped, 1 missed",
		},
		"a deletion before the backfill is that of another schedule": {
			events: []schedule.Event{deleted, requested, ended("1", schedule.StatusCompleted)},
			total:  1, known: 1, text: "all ended: 1 time, 1 completed",
		},
		"deleted meanwhile": {
			events: []schedule.Event{requested, event(schedule.EventStarted, "1"), deleted}, total: 1, deleted: true,
			text: "1 time, 1 unknown to the event history",
			err:  "1 of 1 time did not complete: 1 unknown to the event history",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fates := newBackfillFates("b")
			for i := range test.events {
				fates.add(&test.events[i])
			}
			assert.Equal(t, test.known, fates.known())
			assert.Equal(t, test.deleted, fates.deleted)
			assert.Equal(t, test.text, fates.text(test.total))
			if test.err == "" {
				assert.NoError(t, fates.failure(test.total))
				return
			}
			assert.EqualError(t, fates.failure(test.total), test.err)
		})
	}
}
