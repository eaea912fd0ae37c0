package render

import (
	"io"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Warnings writes one line for each warning; of names what it is about, unless that is plain.
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
