package deploy

import (
	"fmt"
	"regexp"
	"strings"
)

// tokenKind is what a token of PromQL is.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber // a number, a duration, or a variable of Grafana in the place of one
	tokenText
	tokenSign
)

type token struct {
	kind tokenKind
	text string
}

// shapes are the tokens, each kind by the way it is written. The longer signs come first.
var shapes = []struct {
	kind  tokenKind
	shape *regexp.Regexp
}{
	{tokenName, regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_:]*`)},
	{tokenNumber, regexp.MustCompile(`^(\$\{?\w+\}?|[0-9][0-9.]*(e[+-]?[0-9]+)?(ms|[smhdwy])?([0-9]+(ms|[smhdwy]))*)`)},
	{tokenText, regexp.MustCompile(`^"([^"\\]|\\.)*"`)},
	{tokenSign, regexp.MustCompile(`^(==|!=|>=|<=|=~|!~|[-+*/%^(){}\[\],=<>@:])`)},
}

// tokens splits an expression of PromQL.
func tokens(expr string) ([]token, error) {
	var all []token
	rest := strings.TrimSpace(expr)
	for rest != "" {
		found := token{}
		for _, s := range shapes {
			if text := s.shape.FindString(rest); text != "" {
				found = token{s.kind, text}
				break
			}
		}
		if found.kind == tokenEnd {
			return nil, fmt.Errorf("cannot read PromQL from here on: %s", rest)
		}
		all = append(all, found)
		rest = strings.TrimSpace(rest[len(found.text):])
	}
	return append(all, token{}), nil
}
