package figures_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, figures.Spread{Least: 3, Median: 3, Most: 3, Runs: 1}, figures.SpreadOf([]float64{3}))
	assert.Equal(t, figures.Spread{Least: 1, Median: 4, Most: 9, Runs: 3}, figures.SpreadOf([]float64{9, 1, 4}))
	assert.Equal(t, figures.Spread{Least: 1, Median: 3, Most: 9, Runs: 4}, figures.SpreadOf([]float64{9, 1, 4, 2}))
}

// run is a run of a number of shards, with a rate and with a number of misses.
func run(shards int, completed float64, missed int) figures.Run {
	r := figures.Run{Result: figures.Result{Completed: completed, Missed: missed}}
	r.Result.Environment.Shards = shards
	return r
}

func TestPointsPutsRunsOfOnePlaceTogether(t *testing.T) {
	t.Parallel()
	points := figures.Points([]figures.Run{run(16, 7, 0), run(4, 10, 0), run(4, 30, 0), run(4, 11, 0)},
		func(r *figures.Result) float64 { return float64(r.Environment.Shards) },
		func(r *figures.Result) float64 { return r.Completed })
	assert.Equal(t, []figures.Point{
		{X: 4, Spread: figures.Spread{Least: 10, Median: 11, Most: 30, Runs: 3}},
		{X: 16, Spread: figures.Spread{Least: 7, Median: 7, Most: 7, Runs: 1}},
	}, points)
}

func TestWhereLeavesOutWhatIsWorthNothing(t *testing.T) {
	t.Parallel()
	runs := []figures.Run{run(1, 10, 0), run(1, 20, 1), run(4, 30, 0)}
	all := func(*figures.Run) bool { return true }
	assert.Equal(t, []figures.Run{runs[0], runs[2]}, figures.Where(runs, all))
	one := func(r *figures.Run) bool { return r.Result.Environment.Shards == 1 }
	assert.Equal(t, []figures.Run{runs[0]}, figures.Where(runs, one))
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "figures.jsonl")
	none, err := figures.Read(name)
	require.NoError(t, err)
	assert.Empty(t, none, "a file that is not there")

	object := `{"scenario":"steady","environment":{"shards":4,"version":"1.2.3"},"lateness_ms":{"p50":2.5,"p99":14},"later":[1]}`
	line := figures.Line{
		Series: figures.SeriesRate, Command: "carillon bench steady", Nodes: 3,
		TakenAt: time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC), Result: json.RawMessage(object),
	}
	require.NoError(t, figures.Append(name, line))
	line.Result = json.RawMessage(`{"scenario":"idle","lateness_ms":null}`)
	require.NoError(t, figures.Append(name, line))

	runs, err := figures.Read(name)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.JSONEq(t, object, string(runs[0].Line.Result), "the object is kept as it was")
	assert.InDelta(t, 14, runs[0].Result.Lateness.P99, 0)
	assert.Equal(t, "idle", runs[1].Result.Scenario)
	assert.Equal(t, map[figures.Measurement]int{{Command: "carillon bench steady", Nodes: 3}: 2}, figures.Count(runs))
}

func TestStepsPutsLengthsOfAllRunsTogether(t *testing.T) {
	t.Parallel()
	step := func(cpu float64) figures.Operation { return figures.Operation{CPU: cpu} }
	of := func(operations map[string]figures.Operation) figures.Run {
		return figures.Run{Result: figures.Result{Operations: operations}}
	}
	points := figures.Steps([]figures.Run{
		of(map[string]figures.Operation{"step at    10 events": step(1), "step at 10000 events": step(5), "start": step(9)}),
		of(map[string]figures.Operation{"step at    10 events": step(2)}),
		of(nil),
	}, func(o figures.Operation) float64 { return o.CPU })
	assert.Equal(t, []figures.Point{
		{X: 10, Spread: figures.Spread{Least: 1, Median: 1.5, Most: 2, Runs: 2}},
		{X: 10_000, Spread: figures.Spread{Least: 5, Median: 5, Most: 5, Runs: 1}},
	}, points)
}

func TestBusyIsTheLoadOfTheClients(t *testing.T) {
	t.Parallel()
	clients := figures.Load{Load: "from clients", Completed: 400, CPU: 4.5}
	r := figures.Result{Workflows: []figures.Load{{Load: "one at a time", Completed: 200}, clients, {Load: "overload"}}}
	assert.Equal(t, clients, r.Busy())
	assert.Zero(t, new(figures.Result).Busy())
}

func TestReadNamesTheLineThatIsWrong(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "figures.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(`{"result":{}}`+"\n{\"result\":"), 0o600))
	_, err := figures.Read(name)
	assert.ErrorContains(t, err, "line 2")
}
