package main

import (
	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// The figures of workflows, and what they are drawn over.
func replicas(r *figures.Result) float64 { return float64(r.Environment.Replicas) }
func size(r *figures.Result) float64     { return float64(r.Parameters.Size) }

func results(r *figures.Result) float64         { return r.Busy().Completed }
func processorOfEach(r *figures.Result) float64 { return r.Busy().CPU }
func startsPerSecond(r *figures.Result) float64 { return r.Operations["start"].Completed }
func memoryBefore(r *figures.Result) float64    { return r.CreatedRSS / (1 << 20) }
func memoryAfter(r *figures.Result) float64     { return r.RSS / (1 << 20) }

func stepP50(o figures.Operation) float64 { return o.Latency.P50 }
func stepP99(o figures.Operation) float64 { return o.Latency.P99 }
func stepCPU(o figures.Operation) float64 { return o.CPU }

// overThousands are steps over the length of the history in thousands: in full, the longest lengths would be written over each
// other.
func overThousands(runs []figures.Run, y func(figures.Operation) float64) []figures.Point {
	points := figures.Steps(runs, y)
	for i := range points {
		points[i].X /= 1_000
	}
	return points
}

// workflowsChart has a column each for what is completed, for what it costs, and for what becomes longer.
func workflowsChart(runs []figures.Run) chart {
	series := func(name string) []figures.Run { return of(runs, name, "workflows") }
	inShards, onNodes := series(figures.SeriesWorkflowShards), series(figures.SeriesWorkflowNodes)
	histories, sleepers := series(figures.SeriesWorkflowHistory), series(figures.SeriesWorkflowSleepers)
	c := chart{
		name: "workflows", title: "Workflow executions",
		where: "The worker is a process beside that of all roles, on one machine with NATS. With sleepers, each role is one.",
	}
	for _, some := range [][]figures.Run{inShards, onNodes, histories, sleepers} {
		c.runs = append(c.runs, some...)
	}
	const nodes, events, asleep = "servers and replicas", "thousand events", "sleeping workflows"
	c.panels = []panel{
		{title: "completed, one server", x: "shards", y: "workflows/s", logX: true, lines: one(inShards, shards, results)},
		{title: "processor, one server", x: "shards", y: "ms for each", logX: true, lines: one(inShards, shards, processorOfEach)},
		{title: "time of a step", x: events, y: "ms", logX: true, logY: true, lines: []line{
			{"99th percentile", styleP99, overThousands(histories, stepP99)},
			{"median", styleP50, overThousands(histories, stepP50)},
		}},
		{title: "completed, several servers", x: nodes, y: "workflows/s", logX: true, lines: one(onNodes, replicas, results)},
		{title: "processor, without NATS", x: nodes, y: "ms for each", logX: true, lines: one(onNodes, replicas, processorOfEach)},
		{
			title: "processor, without the worker", x: events, y: "ms for each step", logX: true,
			lines: []line{{style: styleOnly, points: overThousands(histories, stepCPU)}},
		},
		{title: "memory", x: asleep, y: "MiB", logX: true, lines: []line{
			{"before a restart", styleBefore, figures.Points(sleepers, size, memoryBefore)},
			{"after it", styleAfter, figures.Points(sleepers, size, memoryAfter)},
		}},
		{title: "falling asleep", x: asleep, y: "starts/s", logX: true, lines: one(sleepers, size, startsPerSecond)},
		{title: "ready after a restart", x: asleep, y: "s", logX: true, lines: one(sleepers, size, ready)},
	}
	return c
}
