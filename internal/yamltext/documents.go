// Package yamltext finds the documents of a YAML text, so that each can be read, limited and named separately.
//
// The package imports nothing of Carillon.
package yamltext

import (
	"iter"
	"strings"
)

// Document is one document of a text.
type Document struct {
	// Text is the document as it is written, with its marks and directives.
	Text string
	// Line is how many lines precede it.
	Line int
}

// Placed returns the text after as many empty lines, so that errors have the line number of the whole text. It may be as large as
// everything before the document, so use it only for errors.
func (d Document) Placed() string { return strings.Repeat("\n", d.Line) + d.Text }

// Documents returns the documents of a text, except those of blanks and comments alone. A line that is "---", or begins with
// "---" and a blank, begins a document, and "..." ends one. At the beginning of a line both are always marks, even in quotes and
// blocks (YAML 1.2.2, section 9.1.2). Directives belong to the document that follows them.
//
// Lines end with LF or CRLF. A text with other line ends is one document.
func Documents(text string) iter.Seq[Document] {
	return func(yield func(Document) bool) {
		begin, at := 0, 0
		line, begun := 0, 0
		now := nothing
		// next begins another document, and reports whether the caller wants it.
		next := func() bool {
			if now == directives {
				return true
			}
			found, any := Document{text[begin:at], begun}, now == something
			begin, begun, now = at, line, nothing
			return !any || yield(found)
		}
		for each := range strings.Lines(text) {
			rest, begins := cutMark(each, "---")
			if begins && !next() {
				return
			}
			rest, ends := cutMark(rest, "...")
			now = max(now, contentOf(rest))
			at, line = at+len(each), line+1
			if ends && !next() {
				return
			}
		}
		if now != nothing {
			yield(Document{text[begin:], begun})
		}
	}
}

// cutMark returns what follows a mark at the beginning of a line.
func cutMark(line, mark string) (rest string, found bool) {
	rest, found = strings.CutPrefix(line, mark)
	if !found || rest != "" && !strings.ContainsRune(blanks, rune(rest[0])) {
		return line, false
	}
	return rest, true
}

const blanks = " \t\r\n"

// content is what the text has contained so far.
type content int

const (
	nothing content = iota
	directives
	something
)

func contentOf(line string) content {
	switch line = strings.Trim(line, blanks); {
	case line == "" || line[0] == '#':
		return nothing
	case line[0] == '%':
		return directives
	}
	return something
}
