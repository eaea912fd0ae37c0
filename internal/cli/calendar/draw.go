package calendar

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/specproc"
)

// Page says what to draw.
type Page struct {
	// First is the first day of the first month, in UTC; Months is how many to draw.
	First  time.Time
	Months int
	Days   Days
	// Changes are the clock changes in these months, in the zone of the days.
	Changes []specproc.ClockChange
	// Sunday begins the weeks on Sunday instead of Monday.
	Sunday bool
	// Width is how many columns there are. A row has at least one month, even if that is wider.
	Width int
	Color bool
}

// monthGap stands between two months that are side by side.
const monthGap = "   "

// Draw writes the months, as many side by side as fit, and notes about clock changes.
func Draw(w io.Writer, p *Page) error {
	d := drawing{Page: p, changed: map[string]bool{}}
	for date := range p.Days {
		d.countWidth = max(d.countWidth, len(countText(p.Days[date])))
	}
	for _, change := range p.Changes {
		d.changed[dateOf(change)] = true
	}
	across := max(1, (p.Width+len(monthGap))/(d.monthWidth()+len(monthGap)))
	var out strings.Builder
	for i := 0; i < p.Months; i += across {
		if i > 0 {
			out.WriteByte('\n')
		}
		d.row(&out, i, min(across, p.Months-i))
	}
	d.notes(&out)
	_, err := io.WriteString(w, out.String())
	return err
}

// drawing is a page with the measures of its cells.
type drawing struct {
	*Page
	// countWidth is the width of the longest count; 0 if nothing is due at all.
	countWidth int
	// changed has the dates of the clock changes.
	changed map[string]bool
}

// cellWidth is the width of a day: two digits, a mark and a count.
func (d *drawing) cellWidth() int { return 3 + d.countWidth }

func (d *drawing) monthWidth() int { return 7*d.cellWidth() + 6 }

// row draws months side by side.
func (d *drawing) row(out *strings.Builder, first, count int) {
	var blocks [][]line
	height := 0
	for i := range count {
		block := d.month(d.First.AddDate(0, first+i, 0))
		blocks = append(blocks, block)
		height = max(height, len(block))
	}
	for y := range height {
		var text strings.Builder
		pad := 0
		for _, block := range blocks {
			var l line
			if y < len(block) {
				l = block[y]
			}
			text.WriteString(strings.Repeat(" ", pad))
			text.WriteString(l.text)
			pad = d.monthWidth() - l.width + len(monthGap)
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// line is a line of a month. Its width is its width on the screen, without colour codes.
type line struct {
	text  string
	width int
}

func (l *line) add(text string, color render.Color) {
	l.width += len([]rune(text))
	l.text += color.Paint(text)
}

// month draws one month: title, days of the week, weeks.
func (d *drawing) month(first time.Time) []line {
	title := first.Format("January 2006")
	if total := d.totalOf(first); total > 0 {
		title += ": " + strconv.Itoa(total)
	}
	lines := []line{{}, d.header()}
	lines[0].add(title, d.color(render.Bold))
	var week line
	d.pad(&week, d.column(first))
	for day := first; day.Month() == first.Month(); day = day.AddDate(0, 0, 1) {
		if d.column(day) == 0 && day.Day() > 1 {
			lines = append(lines, week)
			week = line{}
		}
		if week.width > 0 {
			week.add(" ", render.Plain)
		}
		d.day(&week, day)
	}
	return append(lines, week)
}

// pad leaves space for the days before the first of a month.
func (d *drawing) pad(week *line, columns int) {
	if columns > 0 {
		week.add(strings.Repeat(" ", columns*(d.cellWidth()+1)-1), render.Plain)
	}
}

func (d *drawing) totalOf(first time.Time) int {
	total := 0
	for day := first; day.Month() == first.Month(); day = day.AddDate(0, 0, 1) {
		total += d.Days[day.Format(time.DateOnly)]
	}
	return total
}

// header names the days of the week.
func (d *drawing) header() line {
	names := []string{"Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"}
	if d.Sunday {
		names = append([]string{"Su"}, names[:6]...)
	}
	var l line
	for i, name := range names {
		l.add(name, d.color(render.Dim))
		if i < len(names)-1 {
			l.add(strings.Repeat(" ", d.cellWidth()+1-len(name)), render.Plain)
		}
	}
	return l
}

// column is the position of a day in its week.
func (d *drawing) column(day time.Time) int {
	if d.Sunday {
		return int(day.Weekday())
	}
	return (int(day.Weekday()) + 6) % 7
}

// day draws a day: its number, "×", and how often something is due. If the clocks change on that day, "!" replaces "×".
func (d *drawing) day(l *line, day time.Time) {
	date := day.Format(time.DateOnly)
	mark, count, color := "", "", render.Plain
	if n := d.Days[date]; n > 0 {
		mark, count, color = "×", countText(n), render.Green
	}
	if d.changed[date] {
		mark = "!"
	}
	l.add(render.Pad(fmt.Sprintf("%2d%s%s", day.Day(), mark, count), d.cellWidth()), d.color(color))
}

func (d *drawing) color(c render.Color) render.Color {
	if !d.Color {
		return render.Plain
	}
	return c
}

// notes explains the clock changes.
func (d *drawing) notes(out *strings.Builder) {
	if len(d.Changes) > 0 {
		out.WriteByte('\n')
	}
	for _, change := range d.Changes {
		direction := "back"
		if change.Skips() {
			direction = "forward"
		}
		before, after := change.At.Add(change.Before), change.At.Add(change.After)
		fmt.Fprintf(out, "! %s: the clocks go %s from %s to %s\n", before.Format("Mon 2006-01-02"), direction,
			before.Format("15:04"), laterThan(before, after))
	}
}

// laterThan writes a local time, with its date if the date differs from before.
func laterThan(before, after time.Time) string {
	if before.Format(time.DateOnly) == after.Format(time.DateOnly) {
		return after.Format("15:04")
	}
	return after.Format("15:04 on Mon 2006-01-02")
}

// dateOf returns the day of a clock change, by the clocks before the change.
func dateOf(change specproc.ClockChange) string {
	return change.At.Add(change.Before).Format(time.DateOnly)
}

// countText writes a count in at most four characters. No day has more than 90,000 seconds.
func countText(n int) string {
	if n < 10_000 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(n/1000) + "k"
}
