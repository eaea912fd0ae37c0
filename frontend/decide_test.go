package frontend

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key  = schedule.Key{Namespace: "default", ID: "nightly"}
)

func TestNewDefinition(t *testing.T) {
	t.Parallel()
	req := &schedule.CreateRequest{
		ID: "nightly", RequestID: "r1",
		Schedule: schedule.Schedule{
			Action: schedule.Action{Type: "http", TaskQueue: "q"},
			State:  schedule.State{Paused: true, Notes: "not yet"},
		},
	}
	local := noon.In(time.FixedZone("elsewhere", 3600))
	assert.Equal(t, schedule.Definition{
		Namespace: "default", ID: "nightly", Incarnation: "i1", Version: 1, LimitVersion: 1,
		Schedule: req.Schedule, RequestID: "r1", CreateTime: noon,
	}, newDefinition(key, req, local, "i1"))
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
				&schedule.Definition{Namespace: "default", ID: "nightly", RequestID: test.first},
				&schedule.CreateRequest{ID: "nightly", RequestID: test.second})
			assert.Equal(t, test.want, schedule.CodeOf(err))
			if err != nil {
				assert.EqualError(t, err, `id: namespace "default" has a schedule "nightly" already`)
			}
		})
	}
}

func TestSetPaused(t *testing.T) {
	t.Parallel()
	updated := noon.Add(time.Hour)
	definition := func(version uint64, paused bool, notes string) schedule.Definition {
		return schedule.Definition{
			Version: version, LimitVersion: 1, CreateTime: noon, UpdateTime: updated,
			Schedule: schedule.Schedule{State: schedule.State{Paused: paused, Notes: notes}},
		}
	}
	now := noon.Add(2 * time.Hour)
	activeSince := func(def schedule.Definition, since time.Time) schedule.Definition {
		def.ActiveSince = since
		return def
	}
	for _, test := range []struct {
		name   string
		before schedule.Definition
		paused bool
		note   string
		want   schedule.Definition
	}{
		{"pause", definition(1, false, ""), true, "holidays", definition(2, true, "holidays")},
		{"pause without a note", definition(1, false, "for accounting"), true, "", definition(2, true, "for accounting")},
		{"pause again", definition(2, true, "holidays"), true, "more holidays", definition(3, true, "more holidays")},
		{"unpause", definition(3, true, "holidays"), false, "back", activeSince(definition(4, false, "back"), now)},
		{"unpause what runs", definition(4, false, "back"), false, "", definition(5, false, "back")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := test.before
			assert.Equal(t, test.want, setPaused(test.before, test.paused, test.note, now))
			assert.Equal(t, before, test.before, "the argument must not change")
		})
	}
}

func TestTriggerID(t *testing.T) {
	t.Parallel()
	same := triggerID("i1", "r1")
	assert.Equal(t, same, triggerID("i1", "r1"))
	assert.Equal(t, "f3f1987a-f6ab-57e8-a142-dd1fa14071da", same, "it may never change")
	assert.NotEqual(t, same, triggerID("i1", "r2"))
	assert.NotEqual(t, same, triggerID("i2", "r1"))
	assert.NotEqual(t, same, initialTriggerID(&schedule.Definition{Incarnation: "i1"}))
}

func TestNewTrigger(t *testing.T) {
	t.Parallel()
	trigger := schedule.Trigger{Overlap: schedule.OverlapAllowAll, Note: "by hand"}
	assert.Equal(t, schedule.BackfillState{
		Incarnation: "i1", ID: "t1", RequestTime: noon, Trigger: &trigger, Trace: "00-trace",
	}, newTrigger("i1", "t1", trigger, noon, "00-trace"))
}

func TestCheckPending(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkPending(0))
	require.NoError(t, checkPending(maxPendingBackfills-1))
	err := checkPending(maxPendingBackfills)
	assert.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
	assert.ErrorContains(t, err, fmt.Sprintf("at most %d", maxPendingBackfills))
}

func TestNewEvent(t *testing.T) {
	t.Parallel()
	def := &schedule.Definition{Namespace: "default", ID: "nightly", Incarnation: "i1"}
	assert.Equal(t, schedule.Event{
		ID: "i1-paused-7", Time: noon, Namespace: "default", ScheduleID: "nightly", Kind: schedule.EventPaused,
		Reason: "holidays", Trace: "00-trace",
	}, newEvent(def, schedule.EventPaused, 7, "holidays", noon, "00-trace"))
}
