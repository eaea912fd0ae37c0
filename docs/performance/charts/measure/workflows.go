package main

import (
	"slices"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

func planWorkflowShards(s scale) (runs []measurement) {
	for _, shards := range s.shards {
		runs = append(runs, embedded(figures.SeriesWorkflowShards, s.workload("activity", "--shards", shards)...))
	}
	return runs
}

// planWorkflowNodes has as many shards as an installation that does not choose.
func planWorkflowNodes(s scale) (runs []measurement) {
	for _, nodes := range []int{1, 3} {
		m := embedded(figures.SeriesWorkflowNodes, s.workload("activity", "--shards", 4, "--replicas", nodes)...)
		m.nodes = nodes
		runs = append(runs, m)
	}
	return runs
}

// planWorkflowHistory needs no run for short histories: every run measures at 10 and at 1,000 events on the way.
func planWorkflowHistory(s scale) (runs []measurement) {
	for _, events := range s.histories {
		runs = append(runs, embedded(figures.SeriesWorkflowHistory, "workflows", "--workload", "history", "--size", events))
	}
	return runs
}

// planWorkflowSleepers has processes, so that the memory of the server is known without that of the clients.
func planWorkflowSleepers(s scale) (runs []measurement) {
	for _, n := range s.sleepers {
		runs = append(runs, embedded(figures.SeriesWorkflowSleepers, s.workload("sleeping", "--size", n, "--processes")...))
	}
	return runs
}

// workload are the arguments of a workload with several loads.
func (s scale) workload(kind string, more ...any) []any {
	return slices.Concat(
		[]any{"workflows", "--workload", kind, "--warmup", seconds(s.warmup), "--duration", seconds(s.workflows)}, more)
}
