package pages

import (
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// gantt is a picture of runs beside each other in time. Runs that overlap are in different rows.
type gantt struct {
	From, To moment
	Height   int
	Bars     []ganttBar
	// Ticks are the texts below the picture, evenly spaced.
	Ticks []string
	// Overlaps says how many ran at once; empty if none did.
	Overlaps string
}

// ganttBar is a run: when it was due, how long it waited, and how long it ran.
type ganttBar struct {
	Address, Title, Kind string
	Due, Ran             ganttBox
	// Waited is nil if the run began at once.
	Waited *ganttBox
}

// ganttBox is a place in the picture, which is ganttWidth wide.
type ganttBox struct{ X, Y, Width, Height int }

const (
	ganttWidth = 1000
	// rowHeight is that of a row with its gap. maxRows bounds the rows: what does not fit shares the last one.
	rowHeight, rowGap = 16, 4
	maxRows           = 20
	// leastBox is how wide the shortest run is.
	leastBox   = 3
	ganttTicks = 5
)

// ganttOf draws runs. It is nil if there are none.
func ganttOf(runs []schedule.Run, namespace string, now time.Time, zone *time.Location) *gantt {
	if len(runs) == 0 {
		return nil
	}
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b schedule.Run) int { return dueOf(&a).Compare(dueOf(&b)) })
	from, to := dueOf(&sorted[0]), time.Time{}
	for i := range sorted {
		if end := endOf(&sorted[i], now); end.After(to) {
			to = end
		}
	}
	scale := ganttScale{from, max(to.Sub(from), time.Second)}
	drawn := &gantt{From: momentOf(from, now, zone), To: momentOf(to, now, zone)}
	rows := []time.Time{}
	for i := range sorted {
		row := rowFor(&rows, &sorted[i], scale, now)
		drawn.Bars = append(drawn.Bars, scale.bar(&sorted[i], row, namespace, now, zone))
	}
	drawn.Height = len(rows)*rowHeight + rowGap
	if len(rows) > 1 {
		drawn.Overlaps = fmt.Sprintf("Up to %d were due or running at once.", len(rows))
	}
	form := "15:04:05"
	if scale.span > 24*time.Hour {
		form = "01-02 15:04"
	}
	for i := range ganttTicks {
		drawn.Ticks = append(drawn.Ticks, from.Add(scale.span*time.Duration(i)/(ganttTicks-1)).In(zone).Format(form))
	}
	return drawn
}

// dueOf returns when the picture of a run begins: one that was asked for by hand, or whose time is long past, begins with its start.
func dueOf(run *schedule.Run) time.Time {
	if run.Manual || run.DueTime.IsZero() || run.DueTime.After(run.StartTime) {
		return run.StartTime
	}
	return run.DueTime
}

func endOf(run *schedule.Run, now time.Time) time.Time {
	if run.CloseTime.IsZero() {
		return now
	}
	return run.CloseTime
}

// rowFor returns the first row in which nothing else is drawn at that time, and takes it.
func rowFor(rows *[]time.Time, run *schedule.Run, scale ganttScale, now time.Time) int {
	end := endOf(run, now).Add(scale.span * leastBox / ganttWidth)
	for i, free := range *rows {
		if !dueOf(run).Before(free) || i == maxRows-1 {
			(*rows)[i] = end
			return i
		}
	}
	*rows = append(*rows, end)
	return len(*rows) - 1
}

// ganttScale is the span of time that a picture shows.
type ganttScale struct {
	from time.Time
	span time.Duration
}

// x returns the place of a time.
func (s ganttScale) x(at time.Time) int {
	x := int(at.Sub(s.from).Seconds() / s.span.Seconds() * ganttWidth)
	return min(max(x, 0), ganttWidth-leastBox)
}

// box returns the place of a span of time in a row.
func (s ganttScale) box(from, to time.Time, row int) ganttBox {
	x := s.x(from)
	width := int(to.Sub(from).Seconds() / s.span.Seconds() * ganttWidth)
	return ganttBox{x, row*rowHeight + rowGap, min(max(width, leastBox), ganttWidth-x), rowHeight - rowGap}
}

func (s ganttScale) bar(run *schedule.Run, row int, namespace string, now time.Time, zone *time.Location) ganttBar {
	shown := runOf(run, namespace, now, zone)
	title := shown.Nominal.Text + ": " + shown.Outcome.Word
	if shown.Lateness != "" {
		title += ", late by " + shown.Lateness
	}
	if shown.Took != "" {
		title += ", took " + shown.Took
	}
	due := dueOf(run)
	drawn := ganttBar{Address: shown.Address, Title: title, Kind: shown.Outcome.Kind, Ran: s.box(run.StartTime, endOf(run, now), row)}
	drawn.Due = ganttBox{s.x(due), row*rowHeight + rowGap/2, leastBox - 1, rowHeight - rowGap/2}
	if waited := s.box(due, run.StartTime, row); run.StartTime.After(due) && waited.Width > leastBox {
		drawn.Waited = &waited
	}
	return drawn
}
