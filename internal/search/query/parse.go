package query

import (
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// maxDepth bounds how deep parentheses and negations nest, maxConditions how many comparisons there are: a query is
	// taken apart, and answered, by functions that call themselves.
	maxDepth      = 50
	maxConditions = 200
)

// Parse makes a query about schedules of a text. It may be empty, and the condition or the order left out. The error is an [*Error].
func Parse(text string) (*Query, error) {
	return (&parser{scanner: scanner{text: text}}).parse()
}

func (p *parser) parse() (*Query, error) {
	if len(p.scanner.text) > schedule.MaxQueryBytes {
		return nil, errorAt(schedule.MaxQueryBytes, "the query has more than %d bytes", schedule.MaxQueryBytes)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	q := &Query{}
	if p.token.kind != endToken && !p.atOrder() && !p.atGroup() {
		where, err := p.or()
		if err != nil {
			return nil, err
		}
		q.Where = where
	}
	var err error
	switch {
	case p.atOrder():
		q.Order, err = p.order()
	case p.atGroup():
		q.Group, err = p.group()
	}
	if err == nil && p.token.kind != endToken {
		err = p.expectedEnd(q)
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (p *parser) expectedEnd(q *Query) error {
	switch {
	case p.token.is("limit"):
		return errorAt(p.token.at, "there is no limit: a list has pages, whose size the request says")
	case p.token.is(",") && q.Order != nil:
		return errorAt(p.token.at, "a list has one order: among equals, it is by ID")
	case p.token.is(",") && q.Group != nil:
		return errorAt(p.token.at, "executions are counted by one field")
	case q.Order != nil || q.Group != nil:
		return p.expected("the end of the query")
	case p.executions:
		return p.expected("and, or, order by, group by, or the end of the query")
	case p.workers:
		return p.expected("and, or, or the end of the query")
	}
	return p.expected("and, or, order by, or the end of the query")
}

// parser reads a query by recursive descent, one token ahead.
type parser struct {
	scanner scanner
	// executions says that the query is about executions, and workers that it is about workers.
	executions, workers bool
	// known are the search attributes of executions.
	known      Known
	token      token
	depth      int
	conditions int
}

func (p *parser) advance() (err error) {
	p.token, err = p.scanner.next()
	return err
}

// accept reads a keyword or symbol, if it is what comes next.
func (p *parser) accept(text string) (bool, error) {
	if !p.token.is(text) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(text string) error {
	ok, err := p.accept(text)
	if err == nil && !ok {
		err = p.expected(text)
	}
	return err
}

func (p *parser) expected(what string) error {
	return errorAt(p.token.at, "expected %s, found %s", what, p.token.describe())
}

// enter counts how deep the query is at a token.
func (p *parser) enter() error {
	p.depth++
	if p.depth > maxDepth {
		return errorAt(p.token.at, "parentheses and negations are nested more than %d deep", maxDepth)
	}
	return nil
}

func (p *parser) or() (Expr, error) {
	parts, err := p.list("or", p.and)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	var or Or
	for _, part := range parts {
		if inner, ok := part.(Or); ok {
			or = append(or, inner...)
		} else {
			or = append(or, part)
		}
	}
	return or, nil
}

func (p *parser) and() (Expr, error) {
	parts, err := p.list("and", p.condition)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	var and And
	for _, part := range parts {
		if inner, ok := part.(And); ok {
			and = append(and, inner...)
		} else {
			and = append(and, part)
		}
	}
	return and, nil
}

func first(parts []Expr) Expr {
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

// list reads one thing or several, with a keyword in between.
func (p *parser) list(between string, one func() (Expr, error)) (parts []Expr, err error) {
	for {
		part, err := one()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if more, err := p.accept(between); err != nil || !more {
			return parts, err
		}
	}
}

// condition reads a negation, a parenthesis or a comparison.
func (p *parser) condition() (Expr, error) {
	switch {
	case p.token.is("not"):
		return p.not()
	case p.token.is("("):
		return p.parenthesis()
	case p.atField():
		return p.comparison()
	}
	return nil, p.expected("a field, not or (")
}

func (p *parser) not() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	inner, err := p.condition()
	return Not{inner}, err
}

func (p *parser) parenthesis() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.token.is(")") {
		return nil, p.expected("and, or, or )")
	}
	return inner, p.advance()
}

// keywords cannot be fields by themselves.
var keywords = []string{
	"and", "or", "not", "in", "between", "is", "null", "order", "by", "asc", "desc", "true", "false", string(StartsWith),
}

// isKeyword reports whether a word, in any case, is part of the language and no name.
func isKeyword(word string) bool {
	for _, keyword := range keywords {
		if strings.EqualFold(word, keyword) {
			return true
		}
	}
	return false
}

// atField reports whether a field comes next.
func (p *parser) atField() bool {
	return p.token.kind == nameToken || p.token.kind == wordToken && !isKeyword(p.token.text)
}

func (p *parser) atOrder() bool { return !p.workers && p.token.is("order") }

func (p *parser) order() (*Order, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("by"); err != nil {
		return nil, err
	}
	if !p.atField() {
		return nil, p.expected("a field")
	}
	at := p.token.at
	field, err := p.field()
	if err != nil {
		return nil, err
	}
	kind, err := p.ordered(field, at)
	if err != nil {
		return nil, err
	}
	desc, err := p.accept("desc")
	if err == nil && !desc {
		_, err = p.accept("asc")
	}
	return &Order{field, desc, kind}, err
}

// ordered returns by what type of values a field is ordered, if it is a search attribute of executions.
func (p *parser) ordered(field Field, at int) (Kind, error) {
	known, ok := p.attribute(field)
	if ok && orders[known.Type] != "" {
		return orders[known.Type], nil
	}
	sortable := p.sortable()
	switch {
	case ok:
		return "", errorAt(at, "nothing can be ordered by %s, whose type is %s: only single values have an order", field, known.Type)
	case field.Kind() == "" || !slices.Contains(sortable, field.Name):
		return "", errorAt(at, "nothing can be ordered by %s: use one of %s", field, strings.Join(sortable, ", "))
	}
	return "", nil
}

// sortable returns the fields to order by. A note may be long, and a page token is not; a value that is neither built in nor alone has no order.
func (p *parser) sortable() []string {
	if p.executions {
		return append(ExecutionFields(), "a search attribute that there is")
	}
	return slices.DeleteFunc(BuiltIns(), func(name string) bool { return name == Notes })
}
