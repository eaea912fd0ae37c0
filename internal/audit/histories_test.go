package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestHistoriesOfAllKinds(t *testing.T) {
	t.Parallel()
	all := func(h *history, but ...int) {
		skip := map[int]bool{}
		for _, n := range but {
			skip[n] = true
		}
		for n := 1; n <= 10; n++ {
			if !skip[n] {
				h.add(ran(n)...)
			}
		}
	}
	for name, test := range map[string]struct {
		make func(*history)
		want []audit.Kind
	}{
		"an update that unpauses ends the pause": {func(h *history) {
			h.add(schedule.Event{ID: "i-paused-2", Kind: schedule.EventPaused, Time: minute(1)})
			h.add(schedule.Event{ID: "i-updated-3", Kind: schedule.EventUpdated, Time: minute(2)})
			h.description.Info.UpdateTime = minute(2)
			all(h, 1, 2, 5)
		}, []audit.Kind{audit.KindMissed}},
		"started in the middle of a pause": {func(h *history) {
			h.add(schedule.Event{ID: "i-paused-2", Kind: schedule.EventPaused, Time: minute(3)},
				schedule.Event{ID: "i-unpaused-3", Kind: schedule.EventUnpaused, Time: minute(8)})
			all(h, 3, 4, 6, 7, 8)
		}, []audit.Kind{audit.KindUnexpected}},
		"unpaused without having been paused": {func(h *history) {
			all(h)
			h.add(schedule.Event{ID: "i-unpaused-2", Kind: schedule.EventUnpaused, Time: minute(8)})
		}, []audit.Kind{}},
		"paused by a process whose clock is behind": {func(h *history) {
			all(h, 5, 6, 7, 8)
			h.add(schedule.Event{ID: "i-unpaused-2", Kind: schedule.EventUnpaused, Time: minute(4).Add(30 * time.Second)},
				schedule.Event{ID: "i-paused-3", Kind: schedule.EventPaused, Time: minute(4).Add(29 * time.Second)},
				schedule.Event{ID: "i-unpaused-4", Kind: schedule.EventUnpaused, Time: minute(8).Add(30 * time.Second)})
		}, []audit.Kind{}},
		"paused by a process whose clock says before the creation": {func(h *history) {
			all(h)
			h.add(schedule.Event{ID: "i-unpaused-2", Kind: schedule.EventUnpaused, Time: minute(2)},
				schedule.Event{ID: "i-paused-3", Kind: schedule.EventPaused, Time: minute(0).Add(-time.Second)})
			h.description.Schedule.State.Paused = true
		}, []audit.Kind{}},
		"paused by a process whose clock says before the creation, and unpaused again": {func(h *history) {
			h.add(schedule.Event{ID: "i-unpaused-2", Kind: schedule.EventUnpaused, Time: minute(2)},
				schedule.Event{ID: "i-paused-3", Kind: schedule.EventPaused, Time: minute(0).Add(-time.Second)},
				schedule.Event{ID: "i-unpaused-4", Kind: schedule.EventUnpaused, Time: minute(10).Add(30 * time.Second)})
		}, []audit.Kind{}},
		"a frontend that was held up tells of an earlier schedule": {func(h *history) {
			h.add(schedule.Event{ID: "old-deleted-2", Kind: schedule.EventDeleted, Time: minute(0)})
			all(h)
			h.add(schedule.Event{ID: "old-created-1", Kind: schedule.EventCreated, Time: minute(0)})
		}, []audit.Kind{}},
		"a repeat of an event under its ID": {func(h *history) {
			all(h)
			for _, e := range h.events {
				if e.Kind == schedule.EventStarted {
					h.events = append(h.events, e)
					return
				}
			}
		}, []audit.Kind{}},
		"the generator was down, then a pause": {func(h *history) {
			all(h, 5, 6, 7, 8)
			h.add(schedule.Event{ID: "i-paused-2", Kind: schedule.EventPaused, Time: minute(6).Add(30 * time.Second)},
				schedule.Event{ID: "i-unpaused-3", Kind: schedule.EventUnpaused, Time: minute(8).Add(30 * time.Second)})
		}, []audit.Kind{}},
		"the generator was down, then a pause by a clock that is ahead": {func(h *history) {
			all(h, 5)
			h.add(schedule.Event{ID: "i-paused-2", Kind: schedule.EventPaused, Time: minute(6).Add(500 * time.Millisecond)},
				schedule.Event{ID: "i-unpaused-3", Kind: schedule.EventUnpaused, Time: minute(6).Add(-200 * time.Millisecond)})
		}, []audit.Kind{}},
		"a crashed generator counts one that has started": {func(h *history) {
			all(h, 5)
			h.add(schedule.Event{Kind: schedule.EventMissed, Count: 2, First: minute(4), Last: minute(5), Source: schedule.SourceAuto, Time: minute(7)})
		}, []audit.Kind{}},
		"a crashed generator counts one that was given up": {func(h *history) {
			all(h, 4, 5)
			missed := schedule.Event{Kind: schedule.EventMissed, Count: 1, First: minute(4), Last: minute(4), Source: schedule.SourceAuto}
			missed.Time = minute(6)
			again := missed
			again.Count, again.Last, again.Time = 2, minute(5), minute(7)
			h.add(missed, again)
		}, []audit.Kind{}},
		"the history does not go back to the creation": {func(h *history) {
			all(h, 1, 2, 3)
			h.events = h.events[1:]
		}, []audit.Kind{}},
		"a backfill handed over the wrong time": {func(h *history) {
			all(h)
			start := of(schedule.EventStarted, -9)
			start.Source, start.RequestID = "b", "b1"
			done := start
			done.Kind = schedule.EventCompleted
			h.add(schedule.Event{Kind: schedule.EventBackfillRequested, Source: "b", Time: minute(3), First: minute(-5), Last: minute(-5)},
				start, done, schedule.Event{Kind: schedule.EventBackfillCompleted, Source: "b", Time: minute(4), Count: 1})
		}, []audit.Kind{audit.KindUnexpected, audit.KindMissed}},
		"a backfill was canceled with a batch on its way": {func(h *history) {
			all(h)
			dropped := of(schedule.EventDropped, -5)
			dropped.Source, dropped.RequestID = "b", "b1"
			h.add(schedule.Event{Kind: schedule.EventBackfillRequested, Source: "b", Time: minute(3), First: minute(-5), Last: minute(-4)},
				dropped, schedule.Event{Kind: schedule.EventBackfillCanceled, Source: "b", Time: minute(4)})
		}, []audit.Kind{}},
		"a start that nobody has asked for": {func(h *history) {
			all(h)
			start := of(schedule.EventStarted, 4)
			start.Source, start.RequestID, start.Manual = "forged", "f1", true
			done := start
			done.Kind = schedule.EventCompleted
			h.add(start, done)
		}, []audit.Kind{audit.KindUnexpected}},
		"two starts of one backfill time": {func(h *history) {
			all(h)
			start := of(schedule.EventStarted, -5)
			start.Source, start.RequestID = "b", "b1"
			again := start
			again.RequestID = "b2"
			d1, d2 := start, again
			d1.Kind, d2.Kind = schedule.EventCompleted, schedule.EventCompleted
			h.add(schedule.Event{Kind: schedule.EventBackfillRequested, Source: "b", Time: minute(3), First: minute(-5), Last: minute(-4)},
				start, again, d1, d2, schedule.Event{Kind: schedule.EventBackfillCompleted, Source: "b", Time: minute(4), Count: 2})
		}, []audit.Kind{audit.KindDoubled, audit.KindMissed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			test.make(h)
			got := h.audit(t)
			assert.Equal(t, test.want, kinds(got), "%v %+v", got.Fates, got.Findings)
		})
	}
}
