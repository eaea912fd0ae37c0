package schedules

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key  = schedule.Key{Namespace: "default", ID: "nightly"}
)

// asked is the origin of a request at noon.
var asked = request.Origin{Now: noon, Identity: "ann@desk", RequestID: "r1", Trace: "00-trace"}

func TestNewDefinition(t *testing.T) {
	t.Parallel()
	req := &schedule.CreateRequest{
		ID: "nightly", RequestID: "r1",
		Schedule: schedule.Schedule{Action: schedule.Action{Type: "http", TaskQueue: "q"}},
	}
	want := wire.Definition{
		Namespace: "default", ID: "nightly", Incarnation: "i1", Version: 1, LimitVersion: 1,
		Schedule: req.Schedule, RequestID: "r1", CreateTime: noon,
		Events: []wire.DefinitionEvent{{Version: 1, Event: schedule.Event{
			ID: "i1-created-1", Time: noon, Namespace: "default", ScheduleID: "nightly", Kind: schedule.EventCreated,
			RequestID: "r1", Identity: "ann@desk", Trace: "00-trace",
		}}},
	}
	assert.Equal(t, want, newDefinition(key, req, asked, "i1"))

	req.State = schedule.State{Paused: true, Notes: "not yet"}
	want.Schedule = req.Schedule
	want.PausedBy, want.PauseTime = "ann@desk", noon
	assert.Equal(t, want, newDefinition(key, req, asked, "i1"))
}

func TestCheckRepeat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, first, second string
		want                schedule.Code
	}{
		{"the same request", "r1", "r1", ""},
		{"another request", "r1", "r2", schedule.CodeAlreadyExists},
		{"a request without ID", "r1", "", schedule.CodeAlreadyExists},
		{"two requests without ID", "", "", schedule.CodeAlreadyExists},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := checkRepeat(
				&wire.Definition{Namespace: "default", ID: "nightly", RequestID: test.first},
				&schedule.CreateRequest{ID: "nightly", RequestID: test.second})
			assert.Equal(t, test.want, schedule.CodeOf(err))
			if err != nil {
				assert.EqualError(t, err, `id: namespace "default" has a schedule "nightly" already`)
			}
		})
	}
}

func TestIDsOfRequestsDiffer(t *testing.T) {
	t.Parallel()
	same := triggerID("i1", "r1")
	assert.Equal(t, same, triggerID("i1", "r1"))
	assert.Equal(t, "f3f1987a-f6ab-57e8-a142-dd1fa14071da", same, "it may never change")
	assert.Equal(t, "0dc91a5f-e687-520b-af6a-473a10f86fc2", backfillID("i1", "r1"), "it may never change")
	seen := map[string]bool{}
	initial := &schedule.CreateRequest{TriggerNow: true, Backfills: make([]schedule.BackfillRange, 2)}
	for _, requests := range [][]wire.BackfillState{
		newRequests("i1", "r1", &schedule.Trigger{}, make([]schedule.BackfillRange, 12), asked),
		newRequests("i1", "r2", &schedule.Trigger{}, make([]schedule.BackfillRange, 12), asked),
		newRequests("i2", "r1", &schedule.Trigger{}, make([]schedule.BackfillRange, 12), asked),
		initialRequests(&wire.Definition{Incarnation: "i1"}, initial, asked),
		{{ID: same}, {ID: backfillID("i1", "r1")}, {ID: triggerID("i1", "r2")}, {ID: triggerID("i2", "r1")}},
	} {
		for _, r := range requests {
			assert.False(t, seen[r.ID], "%+v", r)
			seen[r.ID] = true
		}
	}
}

func TestNewTriggerAndBackfill(t *testing.T) {
	t.Parallel()
	trigger := schedule.Trigger{Overlap: schedule.OverlapAllowAll, Note: "by hand", Input: []byte(`{"a":1}`)}
	assert.Equal(t, wire.BackfillState{
		Incarnation: "i1", ID: "t1", RequestTime: noon, Trigger: &trigger,
		Trace: "00-trace", Identity: "ann@desk", RequestID: "r1",
	}, newTrigger("i1", "t1", trigger, asked))
	elsewhere := time.FixedZone("elsewhere", 3600)
	assert.Equal(t, wire.BackfillState{
		Incarnation: "i1", ID: "b1", RequestTime: noon,
		Range: &schedule.BackfillRange{Start: noon, End: noon.Add(time.Hour), Note: "gap"},
		Trace: "00-trace", Identity: "ann@desk", RequestID: "r1",
	}, newBackfill("i1", "b1", schedule.BackfillRange{
		Start: noon.In(elsewhere), End: noon.Add(time.Hour).In(elsewhere), Note: "gap",
	}, asked))
}

func TestCheckPending(t *testing.T) {
	t.Parallel()
	const most = schedule.MaxBackfills
	require.NoError(t, checkPending(0, most))
	require.NoError(t, checkPending(most-1, 1))
	for pending, further := range map[int]int{most: 1, most - 1: 2, 1: most} {
		err := checkPending(pending, further)
		assert.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
		assert.ErrorContains(t, err, fmt.Sprintf("has %d pending", pending))
		assert.ErrorContains(t, err, fmt.Sprintf("at most %d", most))
	}
}

func TestCheckTogether(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkTogether(false, schedule.MaxBackfills))
	require.NoError(t, checkTogether(true, schedule.MaxBackfills-1))
	assert.ErrorContains(t, checkTogether(true, schedule.MaxBackfills), "backfills: has 100 entries, and with the trigger at most 99")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	def := &wire.Definition{Namespace: "default", ID: "nightly", Incarnation: "i1"}
	want := schedule.Event{
		ID: "i1-paused-7", Time: noon, Namespace: "default", ScheduleID: "nightly", Kind: schedule.EventPaused,
		Reason: "holidays", RequestID: "r1", Identity: "ann@desk", Trace: "00-trace",
	}
	assert.Equal(t, want, changeEvent(def, schedule.EventPaused, 7, "holidays", asked))

	trigger := newTrigger("i1", "t1", schedule.Trigger{Note: "by hand"}, asked)
	want.ID, want.Kind, want.Reason, want.Source = "i1-triggered-t1", schedule.EventTriggered, "by hand", "t1"
	assert.Equal(t, want, trigger.Requested(def.Key()))

	backfill := newBackfill("i1", "b1", schedule.BackfillRange{Start: noon, End: noon.Add(1), Note: "gap"}, asked)
	want.ID, want.Kind, want.Reason, want.Source = "i1-backfill_requested-b1", schedule.EventBackfillRequested, "gap", "b1"
	want.First, want.Last = noon, noon.Add(1)
	assert.Equal(t, want, backfill.Requested(def.Key()))
}
