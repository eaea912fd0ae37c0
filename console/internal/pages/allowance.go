package pages

import (
	"strings"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
)

// allowance is how many bytes the texts of a page may still take, as HTML. So a page has a bounded size, whatever others have chosen.
type allowance struct{ left int }

// The allowances of the page of an execution: for all but its history, and for that.
const (
	summaryAllowance = 50_000
	historyAllowance = 40_000
)

// mostEscaped is how many bytes a byte takes at most as HTML: a quote does, as &#34;.
const mostEscaped = 5

// escaped returns how many bytes a text takes as HTML.
func escaped(text string) int {
	n := len(text)
	for _, quoted := range []string{`"`, "'", "<", ">", "&", "+"} {
		n += (mostEscaped - 1) * strings.Count(text, quoted)
	}
	return n
}

// cut returns the beginning of a text, of a number of bytes at most and within what is left, and whether something is missing.
func (a *allowance) cut(text string, limit int) (shown string, isCut bool) {
	shown, isCut = readable.Cut(text, limit)
	if escaped(shown) > a.left {
		shown, isCut = readable.Cut(text, min(limit, max(a.left, 0)/mostEscaped))
	}
	a.left -= escaped(shown)
	return shown, isCut
}

// short returns the beginning of a text that is one of many.
func (a *allowance) short(text string) string {
	shown, _ := a.cut(text, shortText)
	return shown
}

// long returns the beginning of a text, with the address of the whole text.
func (a *allowance) long(whole, all string) text {
	shown, isCut := a.cut(whole, longText)
	if !isCut {
		all = ""
	}
	return text{shown, all}
}

// has reports whether something is left for an address.
func (a *allowance) has(address string) bool {
	a.left -= len(address)
	return a.left > 0
}
