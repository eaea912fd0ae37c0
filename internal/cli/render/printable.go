package render

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable escapes characters that a terminal might obey or that cannot be seen, as JSON does: \u001b, \u202e. The text may be hostile:
// anybody who may publish on a subject can choose a name, and anybody who may create schedules can choose a text. Tabs stay. Bytes that are
// not UTF-8 become U+FFFD.
func Printable(text string) string {
	if strings.IndexFunc(text, isHidden) < 0 {
		return strings.ToValidUTF8(text, string(utf8.RuneError))
	}
	return escape(text, func(r rune) bool { return isHidden(r) && r != '\t' })
}

// PrintableJSON escapes in JSON what [Printable] escapes in a text. The JSON keeps its meaning.
func PrintableJSON(text []byte) []byte {
	hidden := func(r rune) bool { return r > '~' && isHidden(r) } // JSON has already escaped the lower ones, except for its own white space
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	return []byte(escape(string(text), hidden))
}

// escape writes the hidden characters as JSON escapes them.
func escape(text string, hidden func(rune) bool) string {
	var out strings.Builder
	for _, r := range text {
		if !hidden(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

func isHidden(r rune) bool { return !unicode.IsPrint(r) }

// printableRows escapes the cells of a table, except for the colours that this package has given to whole cells.
func printableRows(rows [][]string) [][]string {
	all := make([][]string, len(rows))
	for i, row := range rows {
		all[i] = make([]string, len(row))
		for j, cell := range row {
			color, text := colorOf(cell)
			all[i][j] = color.Paint(Printable(text))
		}
	}
	return all
}

// Color is an ANSI colour.
type Color string

// The colours in use. Each has one meaning. A line can be understood without them.
const (
	Plain  Color = ""
	Dim    Color = "\x1b[2m"
	Bold   Color = "\x1b[1m"
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
	Blue   Color = "\x1b[34m"

	reset = "\x1b[0m"
)

// colorOf separates a painted text into colour and text.
func colorOf(painted string) (Color, string) {
	for _, color := range []Color{Dim, Bold, Red, Green, Yellow, Blue} {
		if text, ok := strings.CutPrefix(painted, string(color)); ok && strings.HasSuffix(text, reset) {
			return color, strings.TrimSuffix(text, reset)
		}
	}
	return Plain, painted
}

// Paint returns text in a colour.
func (c Color) Paint(text string) string {
	if c == Plain || text == "" {
		return text
	}
	return string(c) + text + reset
}
