package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
)

// TestLosses: where nothing else goes wrong, everything that JetStream loses is found and repaired, by scrubbers alone as well
// as by checks alone. So each of them finds each kind of fault that only they repair. The exception is stalled starts: they
// come about once in a hundred seeds, and the tests of the checks make them on purpose.
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
