package render

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// columnGap stands between two columns.
	columnGap = "  "
	// narrowColumn is the width below which no column is cut, in characters.
	narrowColumn = 8
)

// Table writes rows with their columns aligned to the left. The last cell of a row is not padded.
func Table(w io.Writer, rows [][]string) error {
	return layOut(w, printableRows(rows), func(_ int, cell string) string { return cell })
}

// Table writes rows as the function Table does. The first row has the titles. On a terminal it cuts the widest columns until a line fits,
// and paints the words in the columns that show a state.
func (v View) Table(w io.Writer, rows [][]string) error {
	rows = printableRows(rows)
	if v.Width > 0 {
		rows = fit(rows, v.Width)
	}
	return layOut(w, rows, func(column int, cell string) string {
		if !v.Color || column >= len(rows[0]) || !slices.Contains(stateTitles, rows[0][column]) {
			return cell
		}
		return stateColors[strings.TrimRight(cell, " ")].Paint(cell)
	})
}

// stateTitles are the titles of the columns that show a state.
var stateTitles = []string{"STATUS", "STATE", "LAST"}

// stateColors are the colours of the words in these columns: green is good, red is bad, yellow is held up.
var stateColors = map[string]Color{
	"active": Green, "completed": Green, "ok": Green,
	"running": Blue,
	"paused":  Yellow, "used up": Yellow, "frozen": Yellow, "warning": Yellow, "pending": Yellow,
	"failed": Red, "canceled": Red, "terminated": Red, "timed out": Red, "unknown": Red, "deleting": Red,
}

// layOut writes rows, with each cell as paint returns it. paint gets a cell after padding; the last cell of a row has none.
func layOut(w io.Writer, rows [][]string, paint func(column int, cell string) string) error {
	var out strings.Builder
	widths := columnWidths(rows)
	for _, row := range rows {
		for len(row) > 0 && row[len(row)-1] == "" {
			row = row[:len(row)-1]
		}
		for i, cell := range row {
			if i > 0 {
				out.WriteString(columnGap)
			}
			if i < len(row)-1 {
				cell = Pad(cell, widths[i])
			}
			out.WriteString(paint(i, cell))
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// fit cuts the cells of the widest columns until a line is at most width characters long, or until no column can be cut any more.
func fit(rows [][]string, width int) [][]string {
	widths := columnWidths(rows)
	line := len(columnGap) * (len(widths) - 1)
	for _, w := range widths {
		line += w
	}
	for ; line > width; line-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= narrowColumn {
			break
		}
		widths[widest]--
	}
	cut := make([][]string, len(rows))
	for i, row := range rows {
		cut[i] = make([]string, len(row))
		for j, cell := range row {
			cut[i][j] = Shorten(cell, widths[j])
		}
	}
	return cut
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

// Pad adds spaces to a text up to a width in characters.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// Shorten cuts text to a width in characters. The last character of a shortened text is "…".
func Shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
