package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// CalendarSize says how much a calendar holds: "12 dates, 1 window".
func CalendarSize(dates, windows int) string {
	var parts []string
	if dates > 0 {
		parts = append(parts, counted(dates, "date"))
	}
	if windows > 0 {
		parts = append(parts, counted(windows, "window"))
	}
	if len(parts) == 0 {
		return "empty"
	}
	return strings.Join(parts, ", ")
}

// Calendar writes what a named calendar holds, and the progress of its last change.
func Calendar(w io.Writer, d *schedule.CalendarDescription, view View) error {
	var out strings.Builder
	when := func(t time.Time) string { return view.instant(t, time.UTC) }
	for _, row := range filled([][]string{
		{"Calendar", view.paint(Bold, d.Name)},
		{"Namespace", d.Namespace},
		{"Holds", CalendarSize(len(d.Dates), len(d.Windows))},
		{"Created", when(d.Info.CreateTime)},
		{"Updated", when(d.Info.UpdateTime)},
		{"By", oneLine(d.Info.Identity)},
		{"Schedules", replanText(d.Info.Replan)},
		{"Version", versionText(d.ConflictToken)},
	}) {
		fmt.Fprintf(&out, "%s%s%s\n", Pad(row[0], len("Namespace")), columnGap, row[1])
	}
	if d.Info.Replan != nil {
		var rows [][]string
		for _, failure := range d.Info.Replan.Failures {
			rows = append(rows, []string{failure.ID, oneLine(failure.Reason)})
		}
		view.section(&out, "Schedules that go by an older version", rows)
	}
	view.section(&out, "Dates", entryRows(dateLines(d.Dates)))
	view.section(&out, "Windows (UTC)", entryRows(windowLines(d.Windows)))
	_, err := io.WriteString(w, out.String())
	return err
}

// replanText says for how many schedules that use the calendar a change has taken effect.
func replanText(r *schedule.Replan) string {
	switch {
	case r == nil:
		return ""
	case !r.Done:
		return fmt.Sprintf("%d planned anew so far, not done yet", r.Replanned)
	case r.Failed > 0:
		return fmt.Sprintf("%d planned anew, %d could not be", r.Replanned, r.Failed)
	}
	return fmt.Sprintf("all go by this version, %d planned anew", r.Replanned)
}

// Calendars writes one line for each calendar.
func Calendars(w io.Writer, calendars []schedule.CalendarSummary, view View) error {
	if len(calendars) == 0 {
		_, err := io.WriteString(w, "no calendars\n")
		return err
	}
	rows := [][]string{{"NAME", "DATES", "WINDOWS", "CHANGED"}}
	for _, c := range calendars {
		changed := c.UpdateTime
		if changed.IsZero() {
			changed = c.CreateTime
		}
		rows = append(rows, []string{c.Name, strconv.Itoa(c.Dates), strconv.Itoa(c.Windows), Relative(changed, view.Now)})
	}
	return view.Table(w, rows)
}

// CalendarChange writes what would become of a calendar. Signs mark what would be added or removed.
func CalendarChange(w io.Writer, exists bool, current, next schedule.NamedCalendar) error {
	var out strings.Builder
	switch {
	case !exists:
		fmt.Fprintf(&out, "would create calendar %s: %s\n", next.Name, CalendarSize(len(next.Dates), len(next.Windows)))
	case current.SameEntries(next):
		fmt.Fprintf(&out, "calendar %s is up to date\n", next.Name)
	default:
		fmt.Fprintf(&out, "would update calendar %s: %s\n", next.Name, CalendarSize(len(next.Dates), len(next.Windows)))
	}
	before := append(dateLines(current.Dates), windowLines(current.Windows)...)
	after := append(dateLines(next.Dates), windowLines(next.Windows)...)
	for _, line := range after {
		sign := " "
		if !slices.Contains(before, line) {
			sign = "+"
		}
		fmt.Fprintf(&out, "%s %s\n", sign, line)
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			fmt.Fprintf(&out, "- %s\n", line)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func dateLines(dates []schedule.DateRange) []string {
	lines := make([]string, len(dates))
	for i, d := range dates {
		lines[i] = strings.Replace(string(d), "/", " to ", 1)
	}
	return lines
}

func windowLines(windows []schedule.Blackout) []string {
	lines := make([]string, len(windows))
	for i, b := range windows {
		lines[i] = b.From.UTC().Format(time.RFC3339) + " until before " + b.To.UTC().Format(time.RFC3339)
	}
	return lines
}

func entryRows(lines []string) [][]string {
	var rows [][]string
	for _, line := range lines {
		rows = append(rows, []string{line})
	}
	return rows
}
