package jsontext

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Scanner reads a text that has passed [Check], piece by piece. It is not safe for concurrent use.
type Scanner struct{ text *jsontext.Decoder }

// NewScanner returns a scanner at the beginning of a text. It does not copy the text.
func NewScanner(data []byte) *Scanner {
	return &Scanner{jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Peek returns the first byte of the next token, '0' for a number; 0 at the end.
func (s *Scanner) Peek() byte { return byte(s.text.PeekKind()) }

// More reports whether the current object or list has another element.
func (s *Scanner) More() bool {
	c := s.Peek()
	return c != '}' && c != ']' && c != 0
}

// Bracket skips the next bracket.
func (s *Scanner) Bracket() { _, _ = s.text.ReadToken() }

// Key reads a key.
func (s *Scanner) Key() string { return Unquoted(s.Raw()) }

// Raw reads any value and returns it as it is written. The result is part of the text.
func (s *Scanner) Raw() []byte {
	value, _ := s.text.ReadValue() // the value is valid
	return value
}

// Unquoted returns the text of a JSON string.
func Unquoted(quoted []byte) string {
	if IsPlain(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, quoted) // the string is valid
	return string(text)
}

// IsPlain reports whether a value is a string without escapes.
func IsPlain(value []byte) bool {
	return len(value) >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0
}
