package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// scaleTo sets the axes of a panel so that all its points are well inside, with ticks that can be read.
func (p *panel) scaleTo(axes *plot.Plot) {
	points := p.points()
	across := places(points)
	axes.X.Tick.Marker = plot.ConstantTicks(across)
	if len(across) == 1 {
		axes.X.Min, axes.X.Max = across[0].Value/2, across[0].Value*2
	}
	if p.logX {
		axes.X.Scale = plot.LogScale{}
	}
	low, high := math.Inf(1), 0.0
	for _, point := range points {
		low, high = min(low, point.Least), max(high, point.Most)
	}
	if p.logY && low > 0 {
		axes.Y.Scale = plot.LogScale{}
		decades := steps(low, high)
		axes.Y.Min, axes.Y.Max = decades[0], decades[len(decades)-1]
		axes.Y.Tick.Marker = plot.ConstantTicks(thinned(ticks(decades)))
		return
	}
	even := fromZero(high)
	axes.Y.Min, axes.Y.Max = 0, even[len(even)-1]
	axes.Y.Tick.Marker = plot.ConstantTicks(ticks(even))
}

// places are the ticks of an x axis: where something was measured.
func places(points []figures.Point) []plot.Tick {
	var at []float64
	for _, point := range points {
		at = append(at, point.X)
	}
	slices.Sort(at)
	return ticks(slices.Compact(at))
}

func ticks(at []float64) []plot.Tick {
	marks := make([]plot.Tick, len(at))
	for i, value := range at {
		marks[i] = plot.Tick{Value: value, Label: number(value)}
	}
	return marks
}

// steps are 1, 2 and 5 times powers of ten, from the last that is not above low to the first that is not below high.
func steps(low, high float64) []float64 {
	var all []float64
	for power := int(math.Floor(math.Log10(low))); ; power++ {
		for _, digit := range []float64{1, 2, 5} {
			step := digit * math.Pow10(power)
			if step <= low {
				all = all[:0]
			}
			all = append(all, step)
			if step >= high && step > low {
				return all
			}
		}
	}
}

// thinned leaves the labels of all but the powers of ten away where there are many.
func thinned(marks []plot.Tick) []plot.Tick {
	const many = 9
	for i, mark := range marks {
		if digits := strings.Trim(mark.Label, "0.,"); len(marks) >= many && digits != "1" {
			marks[i].Label = ""
		}
	}
	return marks
}

// fromZero are even steps from zero to the first that is not below high, at most five.
func fromZero(high float64) []float64 {
	const most = 5
	if high <= 0 {
		return []float64{0, 1}
	}
	for _, step := range steps(high/most, high) {
		if n := math.Ceil(high / step); n <= most {
			all := []float64{0}
			for i := range int(n) {
				all = append(all, step*float64(i+1))
			}
			return all
		}
	}
	return []float64{0, high}
}

// number writes a number with its thousands apart.
func number(f float64) string {
	const digits = 1e6 // after the point; what is behind them comes of calculating
	text := strconv.FormatFloat(math.Round(f*digits)/digits, 'f', -1, 64)
	whole, part, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if part != "" {
		whole += "." + part
	}
	return whole
}
