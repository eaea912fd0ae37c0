package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
)

func starts(count int, s schedule.BufferedStart) []schedule.BufferedStart {
	all := make([]schedule.BufferedStart, count)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestBackfillRoom(t *testing.T) {
	t.Parallel()
	automated := schedule.BufferedStart{Source: schedule.SourceAuto, Phase: schedule.PhaseDeferred}
	manual := schedule.BufferedStart{Source: "b", Manual: true, Phase: schedule.PhasePending}
	in := func(s schedule.BufferedStart, phase schedule.Phase) schedule.BufferedStart {
		s.Phase = phase
		return s
	}
	for name, test := range map[string]struct {
		starts    []schedule.BufferedStart
		backfills int
		want      int
	}{
		"empty":                           {nil, 1, 100},
		"none is as one":                  {nil, 0, 100},
		"a batch at most":                 {nil, 4, 100},
		"shared":                          {nil, 5, 90},
		"rounded down":                    {nil, 100, 4},
		"more than there is room for":     {nil, 451, 0},
		"automated ones wait":             {starts(400, automated), 1, 50},
		"manual ones wait":                {starts(400, manual), 1, 50},
		"ready ones wait":                 {starts(400, in(automated, schedule.PhaseReady)), 2, 25},
		"manual ones run":                 {starts(400, in(manual, schedule.PhaseStarted)), 1, 50},
		"automated ones run":              {starts(400, in(automated, schedule.PhaseStarted)), 1, 100},
		"what has ended":                  {starts(400, in(manual, schedule.PhaseCompleted)), 1, 100},
		"the last slot":                   {starts(449, manual), 1, 1},
		"the last slot is for nobody":     {starts(449, manual), 2, 0},
		"the slots of the automated ones": {starts(450, manual), 1, 0},
		"a full buffer":                   {starts(1000, automated), 1, 0},
	} {
		assert.Equal(t, test.want, schedule.BackfillRoom(&schedule.InvokerState{Starts: test.starts}, test.backfills), name)
	}
}

// TestBackfillsTogetherKeepTheBound: what all of them may take at once has room, and slots are left.
func TestBackfillsTogetherKeepTheBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.IntRange(0, 1200).Draw(t, "waiting")
		backfills := rapid.IntRange(1, schedule.MaxBackfills).Draw(t, "backfills")
		state := &schedule.InvokerState{Starts: starts(waiting, schedule.BufferedStart{Phase: schedule.PhasePending})}
		room := schedule.BackfillRoom(state, backfills)
		require.GreaterOrEqual(t, room, 0)
		require.LessOrEqual(t, room*backfills, max(450-waiting, 0))
	})
}
