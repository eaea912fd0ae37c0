package simulation

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWithoutFaults(t *testing.T) {
	report := Run(t, 1, Plan{Schedules: 3, Duration: 30 * time.Second, Requests: 10})
	if len(report.Findings) > 0 {
		report.trace.write(os.Stdout, 200)
	}
	require.Empty(t, report.Findings)
	require.Greater(t, report.Runs, 5)
	t.Log(report.Runs, report.Steps)
}

func TestSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		t.Skip("no SEED")
	}
	report := Run(t, seed, planOf(rand.New(rand.NewPCG(seed, 1))))
	file, err := os.Create("/tmp/trace.txt")
	require.NoError(t, err)
	report.trace.write(file, 0)
	for _, f := range report.Findings {
		t.Error(f)
	}
}

func TestSeeds(t *testing.T) {
	begin := time.Now()
	faults := map[string]int{}
	runs, steps := 0, 0
	count := uint64(100)
	if text := os.Getenv("SEEDS"); text != "" {
		count, _ = strconv.ParseUint(text, 10, 64)
	}
	for seed := range count {
		report := Run(t, seed, planOf(rand.New(rand.NewPCG(seed, 1))))
		for kind, n := range report.Faults {
			faults[kind] += n
		}
		runs += report.Runs
		steps += report.Steps
		if len(report.Findings) > 0 {
			t.Errorf("seed %d: %+v: %q", seed, report.Plan, report.Findings)
		}
	}
	t.Logf("%d seeds in %s: %d runs, %d steps, faults %v", count, time.Since(begin), runs, steps, faults)
}

// TestSameSeedSameTrace is what makes a failing seed worth something.
func TestSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(20) {
		plan := planOf(rand.New(rand.NewPCG(seed, 1)))
		first, second := Run(t, seed, plan), Run(t, seed, plan)
		require.Equal(t, first.trace.hash(), second.trace.hash(), "seed %d", seed)
	}
}

func TestDiff(t *testing.T) {
	count := uint64(300)
	if text := os.Getenv("SEEDS"); text != "" {
		count, _ = strconv.ParseUint(text, 10, 64)
	}
	for seed := range count {
		plan := planOf(rand.New(rand.NewPCG(seed, 1)))
		first, second := Run(t, seed, plan), Run(t, seed, plan)
		for i := range first.trace.lines {
			if i >= len(second.trace.lines) || first.trace.lines[i].String() != second.trace.lines[i].String() {
				for j := max(0, i-20); j < i+6; j++ {
					t.Log(seed, first.trace.lines[j].String(), " | ", second.trace.lines[j].String())
				}
				t.Log("=====")
				break
			}
		}
	}
}
