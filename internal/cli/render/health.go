package render

import (
	"io"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/diagnosis"
)

// Health writes one line for each check, and under those that are not well what to do.
func Health(w io.Writer, checks []diagnosis.Check, view View) error {
	width := 0
	for i := range checks {
		width = max(width, len(checks[i].Name))
	}
	var out strings.Builder
	for i := range checks {
		c := &checks[i]
		status := Pad(string(c.Status), len(diagnosis.Warning))
		out.WriteString(view.paint(healthColor(c.Status), status) + columnGap + Pad(c.Name, width) + columnGap)
		out.WriteString(oneLine(c.Detail) + "\n")
		if c.Next != "" {
			out.WriteString(Pad("", len(status)+len(columnGap)+width) + columnGap + "next: " + oneLine(c.Next) + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func healthColor(status diagnosis.Status) Color {
	switch status {
	case diagnosis.OK:
		return Green
	case diagnosis.Warning:
		return Yellow
	}
	return Red
}
