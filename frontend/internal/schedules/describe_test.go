package schedules

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func limited(remaining int) *wire.Definition {
	return &wire.Definition{
		Namespace: "default", ID: "nightly", Incarnation: "i1", Version: 4, LimitVersion: 2,
		CreateTime: noon, UpdateTime: noon.Add(time.Hour),
		Schedule: schedule.Schedule{
			Action: schedule.Action{Type: "http", TaskQueue: "q"},
			State:  schedule.State{LimitedActions: true, RemainingActions: remaining},
		},
	}
}

func TestDescribeComposesTheRecords(t *testing.T) {
	t.Parallel()
	starts := []wire.BufferedStart{
		{RequestID: "done", Phase: schedule.PhaseCompleted, StartTime: noon, Status: schedule.StatusFailed},
		{RequestID: "runs", Phase: schedule.PhaseStarted, StartTime: noon.Add(time.Minute)},
		{RequestID: "ready", Phase: schedule.PhaseReady},
		{RequestID: "waits", Phase: schedule.PhaseDeferred},
		{RequestID: "new", Phase: schedule.PhasePending},
	}
	d := describe(limited(5),
		wire.GeneratorState{Incarnation: "i1", Future: []time.Time{noon, noon.Add(time.Second), noon.Add(time.Minute)}},
		wire.InvokerState{
			Incarnation: "i1", Starts: starts, LimitVersion: 2, LimitUsed: 2,
			Counters: wire.Counters{Actions: 2, MissedCatchup: 3, OverlapSkipped: 4, BufferDropped: 5},
		}, noon.Add(time.Second))

	assert.Equal(t, key, schedule.Key{Namespace: d.Namespace, ID: d.ID})
	assert.Equal(t, uint64(4), d.ConflictToken)
	assert.Equal(t, "http", d.Action.Type)
	assert.Equal(t, 3, d.State.RemainingActions)
	assert.Equal(t, schedule.Info{
		ActionCount: 2, MissedCatchupWindow: 3, OverlapSkipped: 4, BufferDropped: 5, BufferSize: 3,
		RunningWorkflows:  []schedule.Run{wire.NewRun(&starts[1])},
		RecentActions:     []schedule.Run{wire.NewRun(&starts[0]), wire.NewRun(&starts[1])},
		FutureActionTimes: []time.Time{noon.Add(time.Minute)},
		CreateTime:        noon, UpdateTime: noon.Add(time.Hour),
	}, d.Info)
}

func TestDescribeIgnoresAnEarlierSchedule(t *testing.T) {
	t.Parallel()
	d := describe(limited(5),
		wire.GeneratorState{Incarnation: "i0", Future: []time.Time{noon.Add(time.Hour)}},
		wire.InvokerState{
			Incarnation: "i0", LimitVersion: 2, LimitUsed: 2, Counters: wire.Counters{Actions: 2},
			Starts: []wire.BufferedStart{{Phase: schedule.PhaseStarted}},
		}, noon)
	assert.Equal(t, describe(limited(5), wire.GeneratorState{}, wire.InvokerState{}, noon), d)
}

func TestDescribeHasNoNullLists(t *testing.T) {
	t.Parallel()
	text, err := apitext.EncodeJSON(describe(limited(5), wire.GeneratorState{}, wire.InvokerState{}, noon))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"runningWorkflows":[]`)
	assert.Contains(t, string(text), `"recentActions":[]`)
	assert.Contains(t, string(text), `"futureActionTimes":[]`)
}

func TestDescribeRemainingActions(t *testing.T) {
	t.Parallel()
	unlimited := limited(5)
	unlimited.Schedule.State.LimitedActions = false
	for _, test := range []struct {
		name    string
		def     *wire.Definition
		invoker wire.InvokerState
		want    int
	}{
		{"nothing used", limited(5), wire.InvokerState{Incarnation: "i1", LimitVersion: 2}, 5},
		{"some used", limited(5), wire.InvokerState{Incarnation: "i1", LimitVersion: 2, LimitUsed: 4}, 1},
		{"more used than there are", limited(5), wire.InvokerState{Incarnation: "i1", LimitVersion: 2, LimitUsed: 9}, 0},
		{"used of an earlier limit", limited(5), wire.InvokerState{Incarnation: "i1", LimitVersion: 1, LimitUsed: 4}, 5},
		{"no limit", unlimited, wire.InvokerState{Incarnation: "i1", LimitVersion: 2, LimitUsed: 4}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := describe(test.def, wire.GeneratorState{}, test.invoker, noon)
			assert.Equal(t, test.want, d.State.RemainingActions)
		})
	}
}

func TestDescribeKeepsTheLastActionsInOrderOfStart(t *testing.T) {
	t.Parallel()
	state := wire.InvokerState{Incarnation: "i1"}
	for i := range 11 {
		start := noon.Add(time.Duration(i) * time.Second)
		if i == 0 {
			start = noon.Add(time.Hour) // deferred
		}
		state.Ended = state.Ended.With(&schedule.Run{RequestID: fmt.Sprint(i), StartTime: start}, 11)
	}
	state.Starts = []wire.BufferedStart{
		{RequestID: "11", Phase: schedule.PhaseStarted, StartTime: noon.Add(11 * time.Second)},
		{RequestID: "12", Phase: schedule.PhaseDeferred},
	}
	d := describe(limited(0), wire.GeneratorState{}, state, noon)
	var order []string
	for _, run := range d.Info.RecentActions {
		order = append(order, run.RequestID)
	}
	assert.Equal(t, []string{"3", "4", "5", "6", "7", "8", "9", "10", "11", "0"}, order)
}
