package render

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columnGap stands between two columns.
const columnGap = "  "

// Table writes rows with their columns aligned to the left. The last column is not padded.
func Table(w io.Writer, rows [][]string) error {
	var out strings.Builder
	widths := columnWidths(rows)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(columnGap)
			}
			line.WriteString(Pad(cell, widths[i]))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// Pad fills text up with spaces to a width in characters.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// Shorten cuts text to a width in characters; the last one is then "…".
func Shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
