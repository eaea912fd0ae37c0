package figures

import (
	"cmp"
	"maps"
	"slices"
)

// Spread is what several runs of one measurement say together.
type Spread struct {
	Least, Median, Most float64
	Runs                int
}

// SpreadOf returns the spread of some values, of which there is at least one.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{
		Least: sorted[0], Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Most: sorted[n-1], Runs: n,
	}
}

// Point is the spread of a figure at one place of an axis.
type Point struct {
	X float64
	Spread
}

// Points puts runs together that are at the same place of the x axis, and returns the spread of a figure at each.
func Points(runs []Run, x, y func(*Result) float64) []Point {
	values := map[float64][]float64{}
	for i := range runs {
		at := x(&runs[i].Result)
		values[at] = append(values[at], y(&runs[i].Result))
	}
	return spreads(values)
}

// spreads returns the spread of the values at each place, in the order of the places.
func spreads(values map[float64][]float64) []Point {
	points := make([]Point, 0, len(values))
	for _, at := range slices.Sorted(maps.Keys(values)) {
		points = append(points, Point{X: at, Spread: SpreadOf(values[at])})
	}
	return points
}

// Where returns the runs that count for something: those that are asked for and have lost or doubled nothing.
func Where(runs []Run, wanted func(*Run) bool) []Run {
	var some []Run
	for i := range runs {
		if runs[i].Result.OK() && wanted(&runs[i]) {
			some = append(some, runs[i])
		}
	}
	return some
}

// Measurement is what runs have in common that are samples of the same thing.
type Measurement struct {
	Command string
	Nodes   int
}

// Measurement says what was measured.
func (l *Line) Measurement() Measurement { return Measurement{l.Command, l.Nodes} }

// Count counts the runs of each measurement.
func Count(runs []Run) map[Measurement]int {
	count := map[Measurement]int{}
	for i := range runs {
		count[runs[i].Measurement()]++
	}
	return count
}

// Versions returns the versions of the program that were measured.
func Versions(runs []Run) []string {
	return Distinct(runs, func(r *Run) string { return r.Result.Environment.Version })
}

// Distinct returns the values of runs in order, each once.
func Distinct[V cmp.Ordered](runs []Run, value func(*Run) V) []V {
	seen := map[V]bool{}
	for i := range runs {
		seen[value(&runs[i])] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
