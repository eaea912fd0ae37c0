package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func starts(count int, s wire.BufferedStart) []wire.BufferedStart {
	all := make([]wire.BufferedStart, count)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestBackfillRoom(t *testing.T) {
	t.Parallel()
	automated := wire.BufferedStart{Source: schedule.SourceAuto, Phase: schedule.PhaseDeferred}
	manual := wire.BufferedStart{Source: "b", Manual: true, Phase: schedule.PhasePending}
	in := func(s wire.BufferedStart, phase schedule.Phase) wire.BufferedStart {
		s.Phase = phase
		return s
	}
	for name, test := range map[string]struct {
		starts    []wire.BufferedStart
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
		assert.Equal(t, test.want, wire.BackfillRoom(&wire.InvokerState{Starts: test.starts}, test.backfills), name)
	}
}

// TestBackfillsTogetherKeepTheBound: what all of them may take at once has room, and slots are left.
func TestBackfillsTogetherKeepTheBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.IntRange(0, 1200).Draw(t, "waiting")
		backfills := rapid.IntRange(1, schedule.MaxBackfills).Draw(t, "backfills")
		state := &wire.InvokerState{Starts: starts(waiting, wire.BufferedStart{Phase: schedule.PhasePending})}
		room := wire.BackfillRoom(state, backfills)
		require.GreaterOrEqual(t, room, 0)
		require.LessOrEqual(t, room*backfills, max(450-waiting, 0))
	})
}

// TestTakenFrom: what has overtaken a missing hand-off does not count.
func TestTakenFrom(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	span := func(from, to int64) wire.Span { return wire.Span{From: at(from), To: at(to)} }
	for name, test := range map[string]struct {
		covered []wire.Span
		want    int64
	}{
		"nothing":                       {nil, 10},
		"all":                           {[]wire.Span{span(10, 30)}, 30},
		"the first is missing":          {[]wire.Span{span(20, 30)}, 10},
		"one in between is missing":     {[]wire.Span{span(10, 20), span(25, 30)}, 20},
		"two are missing":               {[]wire.Span{span(10, 12), span(15, 17), span(20, 30)}, 12},
		"the first, and another behind": {[]wire.Span{span(11, 20), span(25, 30)}, 10},
		"a beginning of no length":      {[]wire.Span{span(10, 10), span(20, 30)}, 10},
	} {
		progress := wire.SourceProgress{Covered: test.covered}
		assert.Equal(t, at(test.want), progress.TakenFrom(at(10)), name)
	}
}
