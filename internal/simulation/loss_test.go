package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
)

// TestLosses: where nothing else goes wrong, whatever JetStream loses is found and mended, by scrubbers alone as well as by checks alone.
// So each of them has found each kind of thing that only they heal; but for stalled starts, which come about once in a hundred seeds
// and are made on purpose where the checks are tested.
func TestLosses(t *testing.T) {
	t.Parallel()
	seeds := uint64(80)
	if raceEnabled || testing.Short() {
		seeds = 30
	}
	for name, scrubbers := range map[string]bool{"scrubbers": true, "checks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repaired := map[string]int{}
			for seed := range seeds {
				plan := Plan{Schedules: 3, Duration: 30 * time.Second, Requests: 15}
				plan.ActionsPerSecond = float64(seed%3) / 2
				plan.Losses, plan.Scrubbers, plan.Checks = 8, scrubbers, !scrubbers
				report := Run(t, seed, plan)
				failIfFound(t, report)
				for fault, times := range report.Faults {
					repaired[fault] += times
				}
			}
			t.Log(repaired)
			for _, kind := range []consistency.Kind{consistency.DueTimerMissing, consistency.BackfillStalled, consistency.RunLost} {
				require.Positive(t, repaired["repaired: "+string(kind)], kind)
			}
		})
	}
}
