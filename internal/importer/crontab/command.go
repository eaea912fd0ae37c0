package crontab

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/importer"
)

// cutOptions cuts the options of cron off the front of a command: -n sends mail only if the command fails.
func cutOptions(s *importer.Entry, text string) (string, error) {
	for strings.HasPrefix(text, "-") {
		words, rest := cutFields(text, 1)
		if words[0] != "-n" {
			return "", fmt.Errorf("%q is not an option of cron that is known", words[0])
		}
		text = rest
		s.Note("the option -n is about mail, which is not sent")
	}
	return text, nil
}

// idOf makes an ID from the first word of a command.
func idOf(word string) string {
	const longest = 60
	return cmp.Or(importer.Slug(path.Base(strings.TrimSpace(word)), longest), "cron")
}

// splitPercent treats % as cron does. The first one ends the command, and the rest is for standard input. In the command, a
// backslash protects the next character from that, and is removed if that is a %.
func splitPercent(text string) (command, stdin string) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '%':
			return out.String(), stdinOf(text[i+1:])
		case text[i] == '\\' && i+1 < len(text):
			i++
			if text[i] != '%' {
				out.WriteByte('\\')
			}
		}
		out.WriteByte(text[i])
	}
	return out.String(), ""
}

// stdinOf returns what cron writes to standard input. A % ends a line. A backslash directly in front of a % makes it a literal %,
// even if there is another backslash before. Cron ends the last line.
func stdinOf(text string) string {
	const percent = "\x00" // no line contains one
	text = strings.ReplaceAll(text, `\%`, percent)
	text = strings.ReplaceAll(text, "%", "\n")
	text = strings.ReplaceAll(text, percent, "%")
	if seen := strings.TrimRight(text, `\`); seen != "" && !strings.HasSuffix(seen, "\n") {
		text += "\n"
	}
	return text
}
