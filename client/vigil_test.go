package client

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestVigil(t *testing.T) {
	t.Parallel()
	const mine = "t1"
	lost := errors.New("lost")
	of := func(kind schedule.EventKind, source string) schedule.Event {
		return schedule.Event{ID: fmt.Sprint(kind, source), Kind: kind, Source: source}
	}
	for name, test := range map[string]struct {
		events []schedule.Event
		fails  bool
		told   []schedule.EventKind
		over   bool
	}{
		"its own alone, once, up to the end": {
			events: []schedule.Event{
				of(schedule.EventStarted, "auto"), of(schedule.EventCompleted, "auto"), of(schedule.EventDeferred, mine),
				of(schedule.EventDeferred, mine), of(schedule.EventStarted, mine), of(schedule.EventCompleted, "t2"),
				of(schedule.EventCompleted, mine), of(schedule.EventRetried, mine),
			},
			told: []schedule.EventKind{schedule.EventDeferred, schedule.EventStarted, schedule.EventCompleted}, over: true,
		},
		"the end of the schedule": {
			events: []schedule.Event{of(schedule.EventTriggered, mine), of(schedule.EventDeleted, "")},
			told:   []schedule.EventKind{schedule.EventTriggered, schedule.EventDeleted}, over: true,
		},
		"the end of an earlier schedule": {events: []schedule.Event{of(schedule.EventDeleted, "")}},
		"an error": {
			events: []schedule.Event{of(schedule.EventStarted, mine)}, fails: true, told: []schedule.EventKind{schedule.EventStarted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []schedule.EventKind
			v := vigil{
				meant: func(e *schedule.Event) bool { return e.Source == mine }, told: map[string]bool{},
				yield: func(e schedule.Event, _ error) bool { told = append(told, e.Kind); return true },
			}
			var failure error
			if test.fails {
				failure = lost
			}
			assert.ErrorIs(t, v.tell(sequence(test.events, failure)), failure)
			assert.Equal(t, test.told, told)
			assert.Equal(t, test.over, v.over)
		})
	}
}

func sequence(events []schedule.Event, failure error) iter.Seq2[schedule.Event, error] {
	return func(yield func(schedule.Event, error) bool) {
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
		if failure != nil {
			yield(schedule.Event{}, failure)
		}
	}
}
