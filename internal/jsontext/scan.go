package jsontext

import "encoding/json"

// Scanner reads a text that is known to be valid JSON, piece by piece. Its commas and colons say nothing then, and are
// passed over like white space.
type Scanner struct {
	data []byte
	at   int
}

// NewScanner returns a scanner at the beginning of a text.
func NewScanner(data []byte) *Scanner { return &Scanner{data: data} }

// Peek returns the first byte of what comes next; 0 at the end.
func (s *Scanner) Peek() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// More reports whether the object or list that is being read has another element.
func (s *Scanner) More() bool {
	c := s.Peek()
	return c != '}' && c != ']' && c != 0
}

// Bracket passes over the bracket that comes next.
func (s *Scanner) Bracket() {
	s.Peek()
	s.at++
}

// Key reads a key.
func (s *Scanner) Key() string { return Unquoted(s.Scalar()) }

// Scalar reads a value that is neither an object nor a list, as it is written.
func (s *Scanner) Scalar() []byte {
	first := s.Peek()
	begin := s.at
	if first == '"' {
		s.passString()
		return s.data[begin:s.at]
	}
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n', ',', ':', '}', ']':
			return s.data[begin:s.at]
		}
		s.at++
	}
	return s.data[begin:]
}

// Raw reads any value, as it is written.
func (s *Scanner) Raw() []byte {
	if c := s.Peek(); c != '{' && c != '[' {
		return s.Scalar()
	}
	begin, depth := s.at, 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			s.passString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			break
		}
	}
	return s.data[begin:s.at]
}

// passString passes over the string that begins here.
func (s *Scanner) passString() {
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
}

// Unquoted is the text of a string of JSON.
func Unquoted(quoted []byte) string {
	if IsPlain(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // which is valid
	return text
}

// IsPlain reports whether a value is a string without escapes.
func IsPlain(value []byte) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	for _, c := range value {
		if c == '\\' {
			return false
		}
	}
	return true
}
