package pages

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// timeline is what ran in the last hour and what is due in the next one: a column for each minute as a picture, and a row for every ten minutes as a
// table.
type timeline struct {
	Columns []column
	// Ticks are the labels below the picture, and Rows the table. Rows without anything are left out.
	Ticks []tick
	Rows  []spanRow
	// Width and Height are those of the picture, in its own units. Now is where the present is.
	Width, Height, Now int
	// Most is the most of one minute: the highest column.
	Most int
}

// column is what one minute has.
type column struct {
	Title string
	Bars  []bar
}

// bar is a part of a column, of the colour of its kind.
type bar struct {
	X, Y, Width, Height int
	Kind                string
}

// tick is a label below the picture.
type tick struct{ Text, Time string }

// spanRow is a row of the table.
type spanRow struct {
	From                            moment
	Completed, Failed, Running, Due int
}

const (
	columnWidth, pictureHeight = 10, 120
	// leastBar is the height of the smallest part, so that one failure among a thousand runs is seen.
	leastBar   = 4
	tickEvery  = 15 * time.Minute
	tableEvery = 10 * time.Minute
)

// tally counts what happens in a span of time, by kind in the order of kindsOfBars.
type tally [4]int

// kindsOfBars are the kinds of a column from the bottom to the top.
var kindsOfBars = [4]struct{ kind, word string }{{"good", "completed"}, {"bad", "failed"}, {"busy", "running"}, {"due", "due"}}

func (t *tally) sum() (sum int) {
	for _, n := range t {
		sum += n
	}
	return sum
}

// words says what a tally has, such as "3 completed, 1 failed".
func (t *tally) words() string {
	var words []string
	for i, n := range t {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, kindsOfBars[i].word))
		}
	}
	return strings.Join(words, ", ")
}

// timelineOf draws runs and times to come around a moment.
func timelineOf(runs []schedule.Run, times []due, now time.Time) timeline {
	begin := now.Add(-nowSpan).Truncate(time.Minute)
	minutes := make([]tally, 2*int(nowSpan/time.Minute)+1)
	add := func(at time.Time, kind int) {
		if i := int(at.Sub(begin) / time.Minute); !at.Before(begin) && i < len(minutes) {
			minutes[i][kind]++
		}
	}
	for i := range runs {
		add(runs[i].StartTime, kindOf(&runs[i]))
	}
	for _, d := range times {
		if d.at.After(now) {
			add(d.at, 3)
		}
	}
	drawn := timeline{
		Width: len(minutes) * columnWidth, Height: pictureHeight, Now: int(now.Sub(begin) * columnWidth / time.Minute),
		Rows: spans(minutes, begin, now),
	}
	for i := range minutes {
		drawn.Most = max(drawn.Most, minutes[i].sum())
	}
	for i := range minutes {
		drawn.column(&minutes[i], i, begin)
	}
	for at := begin; !at.After(begin.Add(2 * nowSpan)); at = at.Add(tickEvery) {
		drawn.Ticks = append(drawn.Ticks, tick{at.UTC().Format("15:04"), at.UTC().Format(time.RFC3339)})
	}
	return drawn
}

// kindOf returns the index in a tally of what came of a run.
func kindOf(run *schedule.Run) int {
	switch run.Status {
	case schedule.StatusCompleted:
		return 0
	case "", schedule.StatusRunning:
		return 2
	}
	return 1
}

// column draws what one minute has.
func (t *timeline) column(minute *tally, at int, begin time.Time) {
	if minute.sum() == 0 {
		return
	}
	drawn := column{Title: begin.Add(time.Duration(at)*time.Minute).UTC().Format("15:04") + ": " + minute.words()}
	top := t.Height
	for i, n := range minute {
		if n == 0 {
			continue
		}
		height := max(leastBar, n*(t.Height-len(minute)*leastBar)/t.Most)
		top -= height
		drawn.Bars = append(drawn.Bars, bar{at*columnWidth + 1, top, columnWidth - 2, height, kindsOfBars[i].kind})
	}
	t.Columns = append(t.Columns, drawn)
}

// spans sums up the minutes for the table.
func spans(minutes []tally, begin, now time.Time) (rows []spanRow) {
	const length = int(tableEvery / time.Minute)
	for first := 0; first < len(minutes); first += length {
		var sum tally
		for _, minute := range minutes[first:min(first+length, len(minutes))] {
			for i, n := range minute {
				sum[i] += n
			}
		}
		if sum.sum() > 0 {
			at := momentOf(begin.Add(time.Duration(first)*time.Minute), now, time.UTC)
			rows = append(rows, spanRow{at, sum[0], sum[1], sum[2], sum[3]})
		}
	}
	return rows
}
