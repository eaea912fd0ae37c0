package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error says what is wrong with a query, and where.
type Error struct {
	// At is where, in bytes from the beginning; the length of the query stands for its end.
	At int
	// Message says what is wrong and what was expected.
	Message string
}

// Error returns the message without the place. [Explain] has both.
func (e *Error) Error() string { return e.Message }

func errorAt(at int, format string, args ...any) *Error {
	return &Error{At: at, Message: fmt.Sprintf(format, args...)}
}

// Explain returns what is wrong with a query in one line, with the place as a number: "at character 17: …".
func Explain(text string, err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return fmt.Sprintf("at character %d: %s", utf8.RuneCountInString(text[:e.At])+1, e.Message)
}

// Point returns the query in one line, and below it a caret at the place of an error of [Parse]. Of a long query it shows
// what is around the place. It is empty for another error.
func Point(text string, err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	const before, after = 50, 25
	line := []rune(strings.Map(plain, text))
	at := utf8.RuneCountInString(text[:e.At])
	begin, end := max(0, at-before), min(len(line), at+after)
	return string(line[begin:end]) + "\n" + strings.Repeat(" ", at-begin) + "^"
}

// plain keeps characters that take one column, as far as one can tell.
func plain(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}
