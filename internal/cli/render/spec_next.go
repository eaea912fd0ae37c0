package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// SpecTimes is what "spec next" shows about a spec.
type SpecTimes struct {
	Description string          `json:"description"`
	Warnings    []prose.Warning `json:"warnings,omitempty"`
	TimeZone    string          `json:"timeZone"`
	Next        []SpecTime      `json:"next"`
	// Exhausted says that nothing follows the times in Next.
	Exhausted bool `json:"exhausted"`
}

// SpecTime is one time of a spec. Local is the nominal time in the zone of the spec.
type SpecTime struct {
	Nominal time.Time `json:"nominal"`
	Actual  time.Time `json:"actual"`
	Local   time.Time `json:"local"`
}

// SpecNext writes a spec in words, its times and its warnings.
func SpecNext(w io.Writer, next *SpecTimes, view View) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", view.paint(Bold, next.Description))
	if len(next.Next) > 0 {
		out.WriteString("\n")
		_ = Table(&out, next.rows(view.Now)) // a strings.Builder does not fail
	}
	if next.Exhausted {
		out.WriteString("\nno more times\n")
	}
	specWarnings(&out, next.Warnings, view)
	_, err := io.WriteString(w, out.String())
	return err
}

// rows has the times in the zone of the spec, then in UTC unless that is the zone, then the due times if jitter moves them.
func (n *SpecTimes) rows(now time.Time) [][]string {
	moved := slices.ContainsFunc(n.Next, func(t SpecTime) bool { return !t.Actual.Equal(t.Nominal) })
	row := func(local, utc, due, distance string) []string {
		cells := []string{local}
		if n.TimeZone != "UTC" {
			cells = append(cells, utc)
		}
		if moved {
			cells = append(cells, due)
		}
		return append(cells, distance)
	}
	rows := [][]string{row(n.TimeZone, "UTC", "DUE WITH JITTER", "")}
	for _, t := range n.Next {
		rows = append(rows, row(
			t.Local.Format("Mon 2006-01-02 15:04:05 MST"), t.Nominal.UTC().Format(time.RFC3339),
			t.Actual.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Relative(t.Actual, now),
		))
	}
	return rows
}

// specWarnings writes one line for each warning.
func specWarnings(out *strings.Builder, warnings []prose.Warning, view View) {
	if len(warnings) > 0 {
		out.WriteString("\n")
	}
	for _, warning := range warnings {
		field := warning.Field
		if field != "" {
			field += ": "
		}
		fmt.Fprintf(out, "%s %s%s\n", view.paint(Yellow, "warning:"), field, warning.Text)
	}
}

// Warnings writes one line for each warning. The argument of names the object of the warning; it is empty if that is clear.
func Warnings(w io.Writer, of string, warnings []schedule.Notice) error {
	var out strings.Builder
	for _, warning := range warnings {
		out.WriteString("warning: ")
		if of != "" {
			out.WriteString(oneLine(of) + ": ")
		}
		out.WriteString(oneLine(warning.Message) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
