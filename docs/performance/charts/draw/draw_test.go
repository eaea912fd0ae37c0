package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for f, text := range map[float64]string{
		0: "0", 5: "5", 0.1 * 3: "0.3", 1.2000000000000002: "1.2", 999: "999", 1_000: "1,000", 1_234_567.5: "1,234,567.5",
	} {
		assert.Equal(t, text, number(f))
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []float64{2, 5, 10, 20}, steps(2.5, 14))
	assert.Equal(t, []float64{5, 10}, steps(5, 5), "one value is given room")
	assert.InDeltaSlice(t, []float64{0.01, 0.02, 0.05}, steps(0.012, 0.05), 1e-12)
}

func TestFromZero(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []float64{0, 200, 400, 600}, fromZero(538))
	assert.Equal(t, []float64{0, 1, 2, 3, 4, 5}, fromZero(5))
	assert.Equal(t, []float64{0, 1}, fromZero(0))
}

func TestThinned(t *testing.T) {
	t.Parallel()
	words := func(marks []plot.Tick) string {
		var all []string
		for _, mark := range marks {
			all = append(all, mark.Label)
		}
		return strings.Join(all, " ")
	}
	assert.Equal(t, "2 5 10 20", words(thinned(ticks(steps(2.5, 14)))), "few keep theirs")
	assert.Equal(t, "0.1   1   10   100   1,000", words(thinned(ticks(steps(0.1, 1_000)))))
}

// madeUp are runs of all series; the value of each figure is its own.
func madeUp() []figures.Run {
	var runs []figures.Run
	add := func(series, scenario string, nodes, shards, n int) {
		for i := range 3 {
			r := figures.Run{Line: figures.Line{Series: series, Command: fmt.Sprint(series, scenario, shards, n), Nodes: nodes}}
			r.Result.Scenario = scenario
			r.Result.Parameters.Schedules, r.Result.Parameters.Dormant, r.Result.Environment.Shards = n, 10*n, shards
			value := float64(n * (i + 1))
			r.Result.Lateness.P50, r.Result.Lateness.P99, r.Result.Completed = value, 5*value, value
			r.Result.PeakRSS, r.Result.Disk, r.Result.Cores = value*1e6, value*1e5, value/1e6
			r.Result.Times = map[string]float64{"ready": value / 1e3, "last_started": value / 1e2}
			r.Result.Environment.Replicas, r.Result.Parameters.Size = max(nodes, 1), n
			r.Result.Workflows = []figures.Load{{Load: "one at a time"}, {Load: "from clients", Completed: value, CPU: 1 / value}}
			step := figures.Operation{Completed: value, CPU: value}
			step.Latency.P50, step.Latency.P99 = value, 2*value
			r.Result.Operations = map[string]figures.Operation{"step at    10 events": step, fmt.Sprintf("step at %5d events", 2*n): step, "start": step}
			r.Result.RSS, r.Result.CreatedRSS = value*1e6, value*2e6
			runs = append(runs, r)
		}
	}
	for i, n := range []int{10, 100, 1000} {
		shards := []int{1, 4, 16}[i]
		for _, scenario := range []string{"recover", "idle"} {
			add(figures.SeriesSize, scenario, 0, 4, n)
		}
		add(figures.SeriesRate, "steady", 0, 4, n)
		add(figures.SeriesBeside, "steady", 0, 4, n)
		add(figures.SeriesShards, "steady", 0, shards, 1500)
		add(figures.SeriesShards, "herd", 0, shards, 2000)
		for _, nodes := range []int{1, 3} {
			add(figures.SeriesNodes, "steady", nodes, shards, 200)
		}
		add(figures.SeriesWorkflowShards, "workflows", 0, shards, 1500)
		for _, series := range []string{figures.SeriesWorkflowHistory, figures.SeriesWorkflowSleepers} {
			add(series, "workflows", 0, 4, n)
		}
	}
	for _, nodes := range []int{1, 3} {
		add(figures.SeriesWorkflowNodes, "workflows", nodes, 4, 200)
	}
	return runs
}

func TestTheSameRunsGiveTheSameCharts(t *testing.T) {
	t.Parallel()
	again := charts(madeUp())
	for i, c := range charts(madeUp()) {
		svg, err := c.svg()
		require.NoError(t, err, c.name)
		other, err := again[i].svg()
		require.NoError(t, err, c.name)
		// Not Equal and Contains: they would print all of it.
		assert.True(t, bytes.Equal(svg, other), c.name)
		assert.False(t, bytes.Contains(svg, []byte("NaN")), c.name)
		assert.True(t, bytes.Contains(svg, []byte("Medians of 3 runs")), c.name)
		wellFormed(t, svg)
	}
}

func TestOnePlaceIsEnough(t *testing.T) {
	t.Parallel()
	one := figures.Where(madeUp(), func(r *figures.Run) bool {
		return r.Result.Environment.Shards == 4 && slices.Contains([]int{10, 200, 1500, 2000}, r.Result.Parameters.Schedules)
	})
	for _, c := range charts(one) {
		svg, err := c.svg()
		require.NoError(t, err, c.name)
		assert.False(t, bytes.Contains(svg, []byte("NaN")), c.name)
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestAChartOfNothingIsNotDrawn(t *testing.T) {
	t.Parallel()
	for _, c := range charts(nil) {
		_, err := c.svg()
		assert.ErrorIs(t, err, errNothing, c.name)
	}
}
