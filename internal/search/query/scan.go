package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a part of a query is.
type tokenKind int

const (
	endToken tokenKind = iota
	wordToken
	textToken
	numberToken
	symbolToken
	nameToken // a name in backquotes
)

// token is a part of a query.
type token struct {
	kind tokenKind
	// text is that of a word, number or symbol as it stands there, and what a string says.
	text string
	// at is where it begins, in bytes.
	at int
}

// is reports whether t is a keyword, whatever its case, or a symbol.
func (t token) is(text string) bool {
	return t.kind == wordToken && strings.EqualFold(t.text, text) || t.kind == symbolToken && t.text == text
}

// describe names the token in an error.
func (t token) describe() string {
	switch t.kind {
	case endToken:
		return "the end"
	case textToken:
		return "the string " + shorten(quote(t.text))
	case nameToken:
		return shorten(backquote(t.text))
	case wordToken, numberToken, symbolToken:
	}
	return shorten(t.text)
}

// shorten keeps an error readable.
func shorten(text string) string {
	const longest = 40
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + "…"
}

// scanner takes a query apart. After an error it is of no use.
type scanner struct {
	text string
	at   int
	// temporal says that the query is written as Temporal's clients do.
	temporal bool
}

// next returns the next token.
func (s *scanner) next() (token, error) {
	rest := strings.TrimLeftFunc(s.text[s.at:], unicode.IsSpace)
	begin := len(s.text) - len(rest)
	s.at = begin
	switch {
	case rest == "":
		return token{endToken, "", begin}, nil
	case rest[0] == '\'':
		return s.quoted(begin, textToken)
	case s.temporal && rest[0] == '"':
		return s.quoted(begin, textToken)
	case s.temporal && rest[0] == '`':
		return s.quoted(begin, nameToken)
	case s.temporal && strings.HasPrefix(rest, "<>"):
		s.at += len("<>")
		return token{symbolToken, string(NotEqual), begin}, nil
	case isDigit(rest[0]) || rest[0] == '-':
		return s.number(begin)
	case isNameByte(rest[0]):
		return s.take(token{wordToken, prefixOf(rest, isNameByte), begin}), nil
	}
	for _, other := range foreign {
		if strings.HasPrefix(rest, other.text) {
			return token{}, errorAt(begin, "%s is not part of the language: %s", other.text, other.instead)
		}
	}
	for _, symbol := range []string{"!=", "<=", ">=", "=", "<", ">", "(", ")", ","} {
		if strings.HasPrefix(rest, symbol) {
			return s.take(token{symbolToken, symbol, begin}), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, errorAt(begin, "%q is not part of the language: only strings, in single quotes, have such characters", r)
}

// foreign is what people know from other languages.
var foreign = []struct{ text, instead string }{
	{"<>", "use !="}, {"==", "use ="}, {"&", "use and"}, {"|", "use or"}, {"\"", "strings stand in single quotes"},
	{";", "one query at a time"}, {"`", "names stand in single quotes"},
}

func (s *scanner) take(t token) token {
	s.at += len(t.text)
	return t
}

// quoted reads what stands between two quotes of one kind. Two of them stand for one within it. In a string of a query of Temporal's
// clients, a backslash before a quote or another backslash stands for nothing.
func (s *scanner) quoted(begin int, kind tokenKind) (token, error) {
	mark := s.text[begin]
	escapes := s.temporal && kind == textToken
	var text strings.Builder
	for at := begin + 1; at < len(s.text); at++ {
		c, next := s.text[at], byte(0)
		if at+1 < len(s.text) {
			next = s.text[at+1]
		}
		switch {
		case escapes && c == '\\' && (next == '\\' || next == '\'' || next == '"'), c == mark && next == mark:
			at++
			text.WriteByte(next)
		case c == mark:
			s.at = at + 1
			return token{kind, text.String(), begin}, nil
		default:
			text.WriteByte(c)
		}
	}
	return token{}, errorAt(begin, "the string has no end: %s closes it, and two of them stand for one within it", nameOfQuote[mark])
}

var nameOfQuote = map[byte]string{'\'': "a single quote", '"': "a double quote", '`': "a backquote"}

// number reads what looks like a number. Whether it is one is for the parser to find out.
func (s *scanner) number(begin int) (token, error) {
	rest := s.text[begin:]
	end := 1
	for end < len(rest) && (isDigit(rest[end]) || isNameByte(rest[end]) ||
		rest[end] == '+' && (rest[end-1] == 'e' || rest[end-1] == 'E')) {
		end++
	}
	return s.take(token{numberToken, rest[:end], begin}), nil
}

// isNameByte tells what a word is made of. Dots and dashes belong to it: there is nothing to subtract.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '-' || c == '.'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func prefixOf(text string, of func(byte) bool) string {
	for i := range len(text) {
		if !of(text[i]) {
			return text[:i]
		}
	}
	return text
}

func backquote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
