package schedule

import "encoding/json"

// textScanner reads a text that is known to be valid JSON, piece by piece. Its commas and colons say nothing then, and are
// passed over like white space.
type textScanner struct {
	data []byte
	at   int
}

// peek returns the first byte of what comes next; 0 at the end.
func (s *textScanner) peek() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// more reports whether the object or list that is being read has another element.
func (s *textScanner) more() bool {
	c := s.peek()
	return c != '}' && c != ']' && c != 0
}

// bracket passes over the bracket that comes next.
func (s *textScanner) bracket() {
	s.peek()
	s.at++
}

// key reads a key.
func (s *textScanner) key() string { return unquoted(s.scalar()) }

// scalar reads a value that is neither an object nor a list, as it is written.
func (s *textScanner) scalar() []byte {
	first := s.peek()
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

// raw reads any value, as it is written.
func (s *textScanner) raw() []byte {
	if c := s.peek(); c != '{' && c != '[' {
		return s.scalar()
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
func (s *textScanner) passString() {
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

// unquoted is the text of a string of JSON.
func unquoted(quoted []byte) string {
	if isPlain(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // which is valid
	return text
}

// isPlain reports whether a value is a string without escapes.
func isPlain(value []byte) bool {
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
