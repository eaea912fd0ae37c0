package main

import (
	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// chart is a drawing of several panels side by side.
type chart struct {
	name, title string
	// where says what ran where, if it is not all roles and the worker in one process.
	where  string
	panels []panel
	// runs are those that it shows.
	runs []figures.Run
}

// panel has one pair of axes.
type panel struct {
	title, x, y string
	logX, logY  bool
	lines       []line
}

// line connects the medians of a figure.
type line struct {
	// name stands in the legend of the chart; a line without one needs none.
	name   string
	style  style
	points []figures.Point
}

// points are those of all lines.
func (p *panel) points() []figures.Point {
	var all []figures.Point
	for _, l := range p.lines {
		all = append(all, l.points...)
	}
	return all
}

// The figures, and what they are drawn over.
func offered(r *figures.Result) float64   { return float64(r.Parameters.Schedules) } // each is due once a second
func schedules(r *figures.Result) float64 { return float64(r.Parameters.Schedules) }
func dormant(r *figures.Result) float64   { return float64(r.Parameters.Dormant) }
func shards(r *figures.Result) float64    { return float64(r.Environment.Shards) }

func p50(r *figures.Result) float64         { return r.Lateness.P50 }
func p99(r *figures.Result) float64         { return r.Lateness.P99 }
func completed(r *figures.Result) float64   { return r.Completed }
func memory(r *figures.Result) float64      { return r.PeakRSS / (1 << 20) }
func disk(r *figures.Result) float64        { return r.Disk / (1 << 20) }
func ready(r *figures.Result) float64       { return r.Times["ready"] }
func lastStarted(r *figures.Result) float64 { return r.Times["last_started"] }
func percentOfCore(r *figures.Result) float64 {
	return r.Cores * 100
}

// charts returns what is drawn of some runs.
func charts(runs []figures.Run) []chart {
	return []chart{latenessChart(runs), sizeChart(runs), shardsChart(runs), nodesChart(runs), workflowsChart(runs)}
}

// of returns the runs of a series and a scenario.
func of(runs []figures.Run, series, scenario string) []figures.Run {
	return figures.Where(runs, func(r *figures.Run) bool { return r.Series == series && r.Result.Scenario == scenario })
}

// lateness are the lines of a panel with median and 99th percentile.
func lateness(runs []figures.Run, x func(*figures.Result) float64) []line {
	return []line{
		{"99th percentile", styleP99, figures.Points(runs, x, p99)},
		{"median", styleP50, figures.Points(runs, x, p50)},
	}
}

// one is the only line of a panel.
func one(runs []figures.Run, x, y func(*figures.Result) float64) []line {
	return []line{{style: styleOnly, points: figures.Points(runs, x, y)}}
}

func latenessChart(runs []figures.Run) chart {
	rate, beside := of(runs, figures.SeriesRate, "steady"), of(runs, figures.SeriesBeside, "steady")
	return chart{
		name: "lateness", title: "How late actions start, and how many are completed",
		runs: append(rate, beside...),
		panels: []panel{
			{title: "lateness as more is due", x: "actions due in a second", y: "ms", logY: true, lines: lateness(rate, offered)},
			{title: "completed as more is due", x: "actions due in a second", y: "actions/s", lines: one(rate, offered, completed)},
			{
				title: "lateness at " + each(beside, offered) + "/s beside dormant ones", x: "dormant schedules", y: "ms",
				logX: true, logY: true, lines: lateness(beside, dormant),
			},
		},
	}
}

func sizeChart(runs []figures.Run) chart {
	restart, idle := of(runs, figures.SeriesSize, "recover"), of(runs, figures.SeriesSize, "idle")
	over := func(title, unit string, log bool, some []figures.Run, y func(*figures.Result) float64) panel {
		return panel{title: title, x: "schedules", y: unit, logX: true, logY: log, lines: one(some, schedules, y)}
	}
	return chart{
		name: "size", title: "What dormant schedules cost", runs: append(restart, idle...),
		panels: []panel{
			over("most memory, from a restart on", "MiB", false, restart, memory),
			over("disk", "MiB", true, restart, disk),
			over("ready after a restart", "s", false, restart, ready),
			over("processor, doing nothing", "% of a core", false, idle, percentOfCore),
		},
	}
}

func shardsChart(runs []figures.Run) chart {
	load, herd := of(runs, figures.SeriesShards, "steady"), of(runs, figures.SeriesShards, "herd")
	rate := each(load, offered)
	return chart{
		name: "shards", title: "The same work in more shards, one node", runs: append(load, herd...),
		panels: []panel{
			{title: "completed, of " + rate + "/s due", x: "shards", y: "actions/s", logX: true, lines: one(load, shards, completed)},
			{
				title: "lateness at " + rate + "/s", x: "shards", y: "ms", logX: true, logY: true,
				lines: lateness(load, shards),
			},
			{
				title: each(herd, schedules) + " due at once: the last starts", x: "shards", y: "s after it is due", logX: true,
				lines: one(herd, shards, lastStarted),
			},
		},
	}
}

// nodesChart has two panels for each rate.
func nodesChart(runs []figures.Run) chart {
	all := of(runs, figures.SeriesNodes, "steady")
	c := chart{
		name: "nodes", title: "One server with all data, and three with a replica each", runs: all,
	}
	for _, tick := range places(figures.Points(all, offered, p99)) {
		at := figures.Where(all, func(r *figures.Run) bool { return offered(&r.Result) == tick.Value })
		c.panels = append(c.panels,
			panel{
				title: "lateness at " + tick.Label + "/s, 99th percentile", x: "shards", y: "ms", logX: true, logY: true,
				lines: byNodes(at, p99),
			},
			panel{
				title: "completed, of " + tick.Label + "/s due", x: "shards", y: "actions/s", logX: true,
				lines: byNodes(at, completed),
			})
	}
	return c
}

func byNodes(runs []figures.Run, y func(*figures.Result) float64) []line {
	with := func(nodes int) []figures.Point {
		return figures.Points(figures.Where(runs, func(r *figures.Run) bool { return r.Nodes == nodes }), shards, y)
	}
	return []line{{"one server, one replica", styleOne, with(1)}, {"three servers, three replicas", styleThree, with(3)}}
}

// each is what all of some runs have been given, for a title.
func each(runs []figures.Run, x func(*figures.Result) float64) string {
	text := ""
	for i, tick := range places(figures.Points(runs, x, x)) {
		if i > 0 {
			text += ", "
		}
		text += tick.Label
	}
	return text
}
