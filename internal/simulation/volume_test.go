package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVolume: where there is more to do at once than is done in one go, every limit is met, and still nothing is lost, doubled
// or reported wrongly. The first three plans together meet all of the limits.
func TestVolume(t *testing.T) {
	t.Parallel()
	plans := []struct {
		seed uint64
		of   volume
	}{
		{17, volumeBackfills}, {9, volumeBackfills}, {1, volumeBacklog},
		{13, volumeBackfills}, {16, volumeBacklog}, {15, volumeBacklog},
	}
	if raceEnabled || testing.Short() {
		plans = plans[:3]
	}
	met := map[string]int{}
	for _, p := range plans {
		plan := PlanOf(p.seed)
		plan.have(p.of, rand.New(rand.NewPCG(p.seed, streamVolume)))
		report := Run(t, p.seed, plan)
		failIfFound(t, report)
		for limit, times := range report.Met {
			met[limit] += times
		}
	}
	for _, limit := range []string{metHandOff, metBuffer, metRound, metBatch, metNoRoom, metCounted} {
		require.Positive(t, met[limit], fmt.Sprintf("%s; what was met: %v", limit, met))
	}
}

// TestSwell: some plans of new seeds have a volume of each kind.
func TestSwell(t *testing.T) {
	t.Parallel()
	drawn := map[volume]int{}
	for seed := range uint64(4000) {
		drawn[PlanOf(seed).Volume]++
	}
	require.Positive(t, drawn[volumeBackfills])
	require.Positive(t, drawn[volumeBacklog])
	require.Less(t, drawn[volumeBackfills]+drawn[volumeBacklog], 60, "they take a hundred times as long as others")
}
