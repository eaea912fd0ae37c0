package render

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Skips writes which times a schedule will pass over, in its zone.
func Skips(w io.Writer, id string, skips []time.Time, zone *time.Location, now time.Time) error {
	if len(skips) == 0 {
		_, err := fmt.Fprintf(w, "%s skips no times\n", id)
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s skips (%s)\n", id, zone)
	rows := make([][]string, len(skips))
	for i, t := range skips {
		rows[i] = []string{"", moment(t, zone), Relative(t, now)}
	}
	_ = Table(&out, rows) // a strings.Builder does not fail
	_, err := io.WriteString(w, out.String())
	return err
}
