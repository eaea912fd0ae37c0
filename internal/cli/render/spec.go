package render

import (
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Spec says in one line when a schedule is due.
func Spec(spec schedule.Spec) string {
	var parts []string
	for _, row := range specRows(spec) {
		parts = append(parts, row[0]+" "+row[1])
	}
	if len(parts) == 0 {
		return "only when triggered"
	}
	return strings.Join(parts, ", ")
}

// specRows lists the parts of a spec that produce times.
func specRows(spec schedule.Spec) [][]string {
	var rows [][]string
	for _, interval := range spec.Intervals {
		rows = append(rows, []string{"every", intervalText(interval)})
	}
	for _, expression := range spec.Cron {
		rows = append(rows, []string{"cron", expression})
	}
	rows = append(rows, calendarRows("calendar", spec.Calendars)...)
	rows = append(rows, structuredRows("calendar", spec.StructuredCalendars)...)
	for _, at := range spec.At {
		rows = append(rows, []string{"at", at.Format(time.RFC3339)})
	}
	return rows
}

// limitRows lists the parts of a spec that limit or move its times.
func limitRows(spec schedule.Spec) [][]string {
	rows := append(calendarRows("except", spec.ExcludeCalendars), structuredRows("except", spec.ExcludeStructuredCalendars)...)
	for _, dates := range spec.ExcludeDates {
		rows = append(rows, []string{"except", "on " + strings.Replace(string(dates), "/", " to ", 1)})
	}
	for _, name := range spec.ExcludeCalendarsNamed {
		rows = append(rows, []string{"except", "the calendar " + name})
	}
	for _, b := range spec.Blackouts {
		rows = append(rows, []string{"except", "from " + b.From.Format(time.RFC3339) + " until before " + b.To.Format(time.RFC3339)})
	}
	if spec.TimeZone != "" {
		rows = append(rows, []string{"zone", spec.TimeZone})
	}
	if !spec.StartTime.IsZero() {
		rows = append(rows, []string{"from", spec.StartTime.Format(time.RFC3339)})
	}
	if !spec.EndTime.IsZero() {
		rows = append(rows, []string{"until", spec.EndTime.Format(time.RFC3339)})
	}
	if spec.DST.Gap == schedule.GapShift {
		rows = append(rows, []string{"clock skips it", "shift: right after the gap"})
	}
	if spec.DST.Repeat == schedule.RepeatFirst || spec.DST.Repeat == schedule.RepeatLast {
		rows = append(rows, []string{"clock repeats it", string(spec.DST.Repeat) + " time only"})
	}
	if spec.Jitter > 0 {
		rows = append(rows, []string{"jitter", "up to " + spec.Jitter.String()})
	}
	return rows
}

func intervalText(interval schedule.Interval) string {
	if interval.Phase == 0 {
		return interval.Every.String()
	}
	return interval.Every.String() + "/" + interval.Phase.String()
}

func calendarRows(word string, calendars []schedule.Calendar) [][]string {
	var rows [][]string
	for _, c := range calendars {
		rows = append(rows, []string{word, calendarText(c), c.Comment})
	}
	return rows
}

// calendarText writes the time of day, hour:minute:second, and those fields of the date that are set: "09:00:00 weekday mon-fri".
func calendarText(c schedule.Calendar) string {
	text := clockField(c.Hour) + ":" + clockField(c.Minute) + ":" + clockField(c.Second)
	for _, field := range []struct {
		name  string
		value schedule.CalendarField
	}{
		{"weekday", c.DayOfWeek}, {"day", c.DayOfMonth}, {"month", c.Month}, {"year", c.Year},
	} {
		if field.value != "" && field.value != "*" {
			text += " " + field.name + " " + string(field.value)
		}
	}
	return text
}

// clockField writes a number with two digits, and anything else as it is.
func clockField(field schedule.CalendarField) string {
	value := string(field)
	if len(value) < 2 && !strings.Contains(value, "*") {
		return strings.Repeat("0", 2-len(value)) + value
	}
	return value
}

func structuredRows(word string, calendars []schedule.StructuredCalendar) [][]string {
	var rows [][]string
	for _, c := range calendars {
		text, err := apitext.EncodeJSON(c)
		if err != nil {
			text = []byte(err.Error())
		}
		rows = append(rows, []string{word, string(text)})
	}
	return rows
}
