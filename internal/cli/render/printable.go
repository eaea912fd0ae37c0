package render

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable writes what a terminal might obey, and what cannot be seen, as JSON escapes it: \u001b, \u202e. A name may come from a
// subject that anybody has published on, and a text from anybody who may create schedules. Tabs stay; what is not UTF-8 becomes
// U+FFFD.
func Printable(text string) string {
	if strings.IndexFunc(text, isHidden) < 0 {
		return strings.ToValidUTF8(text, string(utf8.RuneError))
	}
	return escape(text, func(r rune) bool { return isHidden(r) && r != '\t' })
}

// PrintableJSON escapes in JSON what [Printable] escapes in a text. It means the same as before.
func PrintableJSON(text []byte) []byte {
	hidden := func(r rune) bool { return r > '~' && isHidden(r) } // of what is before that, JSON has escaped all but its own white space
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	return []byte(escape(string(text), hidden))
}

// escape writes the characters that are hidden as JSON escapes them.
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

// printableRows escapes what stands in the cells of a table, but for the colours that this package has given to whole cells.
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
