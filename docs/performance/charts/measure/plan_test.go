package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

func TestEveryMeasurementIsPlannedOnce(t *testing.T) {
	t.Parallel()
	for _, s := range []scale{whole, quick} {
		todo, err := plan(s, figures.Series())
		require.NoError(t, err)
		seen := map[figures.Measurement]bool{}
		for _, m := range todo {
			assert.False(t, seen[m.key()], "%s comes twice: its runs would be those of both", m.words())
			seen[m.key()] = true
		}
	}
}

func TestPlanRefusesAnUnknownSeries(t *testing.T) {
	t.Parallel()
	_, err := plan(quick, []string{"rate", "speed"})
	assert.ErrorContains(t, err, `"speed"`)
}

func TestRemainingLeavesOutWhatIsThere(t *testing.T) {
	t.Parallel()
	first, second := embedded("rate", "steady"), embedded("size", "idle")
	left := remaining([]measurement{first, second}, map[figures.Measurement]int{first.key(): 2}, 3)
	var order []string
	for _, m := range left {
		order = append(order, m.args[0])
	}
	assert.Equal(t, "idle idle steady idle", strings.Join(order, " "))
	assert.Empty(t, remaining([]measurement{first}, map[figures.Measurement]int{first.key(): 2}, 2))
}

func TestAServerAloneIsNoCluster(t *testing.T) {
	t.Parallel()
	alone := nodeConfig(0, "/data", "127.0.0.1:1", "127.0.0.1:2", []string{"127.0.0.1:3"})
	assert.NotContains(t, alone, "cluster")
	three := nodeConfig(1, "/data", "127.0.0.1:1", "127.0.0.1:2", []string{"127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5"})
	assert.Contains(t, three, `listen: "127.0.0.1:4", routes: ["nats://127.0.0.1:3", "nats://127.0.0.1:4", "nats://127.0.0.1:5"]`)
}

func TestARunHasOneServerOnly(t *testing.T) {
	t.Parallel()
	m := embedded("nodes", "steady", "--shards", 4)
	assert.Equal(t, []string{"bench", "steady", "--shards", "4", "--json", "--data", "/data"}, m.arguments("/data", ""))
	assert.Equal(t, []string{"bench", "steady", "--shards", "4", "--json", "--nats", "nats://127.0.0.1:1"},
		m.arguments("/data", "nats://127.0.0.1:1"), "a server beside it keeps its data itself")
}

func TestSeriesOfWorkflows(t *testing.T) {
	t.Parallel()
	todo, err := plan(whole, []string{figures.SeriesWorkflowHistory, figures.SeriesWorkflowNodes})
	require.NoError(t, err)
	var commands []string
	for _, m := range todo {
		commands = append(commands, m.words())
	}
	assert.Equal(t, []string{
		"carillon bench workflows --workload history --size 10000",
		"carillon bench workflows --workload history --size 50000",
		"carillon bench workflows --workload activity --warmup 2s --duration 5s --shards 4 --replicas 1 (one server beside it)",
		"carillon bench workflows --workload activity --warmup 2s --duration 5s --shards 4 --replicas 3 (a cluster of 3 servers)",
	}, commands)
}

func TestCounts(t *testing.T) {
	t.Parallel()
	numbers, err := counts("1000, 20")
	require.NoError(t, err)
	assert.Equal(t, []int{1000, 20}, numbers)
	for _, wrong := range []string{"", "1,,2", "0", "many"} {
		_, err := counts(wrong)
		assert.Error(t, err, wrong)
	}
}
