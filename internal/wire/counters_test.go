package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestCountersFromEvents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event schedule.Event
		want  wire.Counters
	}{
		"started":            {schedule.Event{Kind: schedule.EventStarted}, wire.Counters{Actions: 1}},
		"missed":             {schedule.Event{Kind: schedule.EventMissed}, wire.Counters{MissedCatchup: 1}},
		"several missed":     {schedule.Event{Kind: schedule.EventMissed, Count: 7}, wire.Counters{MissedCatchup: 7}},
		"skipped by policy":  {schedule.Event{Kind: schedule.EventSkipped, Overlap: schedule.OverlapSkip}, wire.Counters{OverlapSkipped: 1}},
		"skipped on request": {schedule.Event{Kind: schedule.EventSkipped}, wire.Counters{SkippedOnRequest: 1}},
		"dropped":            {schedule.Event{Kind: schedule.EventDropped, Reason: "why"}, wire.Counters{BufferDropped: 1}},
		"several dropped":    {schedule.Event{Kind: schedule.EventDropped, Count: 3}, wire.Counters{BufferDropped: 3}},
		"gone":               {schedule.Event{Kind: schedule.EventDropped, Reason: wire.GoneReason}, wire.Counters{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var once wire.Counters
			once.Add(test.event)
			require.Equal(t, test.want, once)
			base := wire.Counters{Actions: 1, MissedCatchup: 2, OverlapSkipped: 3, BufferDropped: 4, SkippedOnRequest: 5}
			sum := base
			sum.Add(test.event)
			require.Equal(t, wire.Counters{
				Actions: base.Actions + test.want.Actions, MissedCatchup: base.MissedCatchup + test.want.MissedCatchup,
				OverlapSkipped:   base.OverlapSkipped + test.want.OverlapSkipped,
				BufferDropped:    base.BufferDropped + test.want.BufferDropped,
				SkippedOnRequest: base.SkippedOnRequest + test.want.SkippedOnRequest,
			}, sum)
		})
	}
}

// TestOtherEventsCountNothing goes through all kinds, so that a new one is a decision.
func TestOtherEventsCountNothing(t *testing.T) {
	t.Parallel()
	counted := map[schedule.EventKind]bool{
		schedule.EventStarted: true, schedule.EventMissed: true, schedule.EventSkipped: true, schedule.EventDropped: true,
	}
	for _, kind := range schedule.EventKinds() {
		var c wire.Counters
		c.Add(schedule.Event{Kind: kind, Count: 2})
		require.Equal(t, counted[kind], c != wire.Counters{}, kind)
	}
}
