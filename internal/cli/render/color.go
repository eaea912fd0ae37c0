package render

import "strings"

// Color is an ANSI colour.
type Color string

// The colours in use. Each has one meaning, and none is needed to understand a line.
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

// colorOf takes a painted text apart.
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
