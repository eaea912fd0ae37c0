package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// measurement is a bench command, and where it is to run.
type measurement struct {
	series string
	// args are those of "carillon bench", without what says where it runs.
	args []string
	// nodes is how many NATS servers it has; 0 means the embedded one.
	nodes int
}

func (m measurement) command() string { return "carillon bench " + strings.Join(m.args, " ") }

func (m measurement) key() figures.Measurement {
	return figures.Measurement{Command: m.command(), Nodes: m.nodes}
}

// scale is how large a series is.
type scale struct {
	sizes, rates, shards, clusterRates []int
	// over is the rate offered to several numbers of shards, herd is how many schedules are due at once.
	over, beside, herd int
	// loads are the seconds a load is measured, others those of a restart and of doing nothing.
	loads, others int
	// histories are the events that the history of a workflow has in the end, sleepers how many workflows wait for a timer,
	// workflows the seconds that each load of workflows is measured, after warmup seconds.
	histories, sleepers []int
	workflows, warmup   int
}

// whole is what is published, quick what shows in a minute or two whether everything works.
var (
	whole = scale{
		sizes: []int{1_000, 10_000, 100_000}, rates: []int{200, 1_000, 2_000, 3_000, 4_000, 5_000},
		shards: []int{1, 4, 16}, clusterRates: []int{200, 600},
		over: 3_000, beside: 200, herd: 10_000, loads: 10, others: 5,
		histories: []int{10_000, 50_000}, sleepers: []int{10_000, 100_000}, workflows: 5, warmup: 2,
	}
	quick = scale{
		sizes: []int{50, 500}, rates: []int{20, 50}, shards: []int{1, 4, 16}, clusterRates: []int{20, 60},
		over: 100, beside: 20, herd: 100, loads: 3, others: 3,
		histories: []int{100, 200}, sleepers: []int{20, 200}, workflows: 1, warmup: 1,
	}
)

// plan returns the measurements of some series, in the order in which they are best run.
func plan(s scale, series []string) ([]measurement, error) {
	all := map[string]func(scale) []measurement{
		figures.SeriesSize: planSize, figures.SeriesBeside: planBeside, figures.SeriesRate: planRate,
		figures.SeriesShards: planShards, figures.SeriesNodes: planNodes,
		figures.SeriesWorkflowShards: planWorkflowShards, figures.SeriesWorkflowNodes: planWorkflowNodes,
		figures.SeriesWorkflowHistory: planWorkflowHistory, figures.SeriesWorkflowSleepers: planWorkflowSleepers,
	}
	var runs []measurement
	for _, name := range series {
		planned, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("there is no series %q: use some of %s", name, strings.Join(figures.Series(), ","))
		}
		runs = append(runs, planned(s)...)
	}
	return runs, nil
}

func planSize(s scale) (runs []measurement) {
	for _, n := range s.sizes {
		runs = append(runs,
			embedded(figures.SeriesSize, "recover", "--schedules", n, "--duration", seconds(s.others)),
			embedded(figures.SeriesSize, "idle", "--schedules", n, "--duration", seconds(2*s.others)))
	}
	return runs
}

func planBeside(s scale) (runs []measurement) {
	for _, n := range s.sizes {
		runs = append(runs, embedded(figures.SeriesBeside, steady(s.beside, s.loads, "--dormant", n)...))
	}
	return runs
}

func planRate(s scale) (runs []measurement) {
	for _, rate := range s.rates {
		runs = append(runs, embedded(figures.SeriesRate, steady(rate, s.loads)...))
	}
	return runs
}

func planShards(s scale) (runs []measurement) {
	for _, shards := range s.shards {
		runs = append(runs,
			embedded(figures.SeriesShards, steady(s.over, s.loads, "--shards", shards)...),
			embedded(figures.SeriesShards, "herd", "--schedules", s.herd, "--shards", shards))
	}
	return runs
}

// planNodes compares one server that keeps all data with three that each do.
func planNodes(s scale) (runs []measurement) {
	for _, shards := range s.shards {
		for _, rate := range s.clusterRates {
			for _, nodes := range []int{1, 3} {
				m := embedded(figures.SeriesNodes, steady(rate, s.loads, "--shards", shards, "--replicas", nodes)...)
				m.nodes = nodes
				runs = append(runs, m)
			}
		}
	}
	return runs
}

// steady are the arguments of a steady load.
func steady(rate, duration int, more ...any) []any {
	return slices.Concat([]any{"steady", "--schedules", rate, "--duration", seconds(duration)}, more)
}

func embedded(series string, args ...any) measurement {
	m := measurement{series: series}
	for _, arg := range args {
		m.args = append(m.args, fmt.Sprint(arg))
	}
	return m
}

func seconds(n int) string { return strconv.Itoa(n) + "s" }

// counts reads numbers that are separated by commas.
func counts(text string) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q must be a number from 1 on", word)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
