package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// TestExecutionsWithoutFaults: where nothing goes wrong, every message comes once.
func TestExecutionsWithoutFaults(t *testing.T) {
	t.Parallel()
	seeds, runs := uint64(50), 0
	if raceEnabled || testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		plan := ExecutionPlanOf(seed)
		report := Run(t, seed, Plan{Executions: plan.Executions, Duration: plan.Duration, Requests: plan.Requests})
		failIfFound(t, report)
		require.Empty(t, report.Faults)
		runs += report.Runs
	}
	require.Greater(t, runs, 2*int(seeds))
}

// TestEveryKindOfEventIsSimulated: the simulation would not test an event that never happens. Nor would it test the removal of runs if none is removed.
func TestEveryKindOfEventIsSimulated(t *testing.T) {
	t.Parallel()
	if raceEnabled || testing.Short() {
		t.Skip("it takes many seeds")
	}
	missing := map[enumspb.EventType]bool{}
	for kind := enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED; kind <= enumspb.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED; kind++ {
		missing[kind] = true
	}
	delete(missing, enumspb.EVENT_TYPE_MARKER_RECORDED) // changes nothing
	missing[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED] = true
	missing[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED], missing[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED] = true, true
	removals := map[string]bool{metDeletedOpen: true, metDeletedEnded: true, metExpired: true, metBaseGone: true}
	for seed := uint64(0); len(missing)+len(removals) > 0 && seed < 1000; seed++ {
		report := Run(t, seed, ExecutionPlanOf(seed))
		for what := range report.Met {
			delete(removals, what)
		}
		for kind := range report.Events {
			delete(missing, kind)
		}
	}
	require.Empty(t, missing)
	require.Empty(t, removals)
}
