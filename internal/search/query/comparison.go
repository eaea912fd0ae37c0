package query

import (
	"strings"

	"github.com/carillon-scheduler/carillon/internal/suggest"
)

// comparison reads what is asked of one field.
func (p *parser) comparison() (Expr, error) {
	p.conditions++
	if p.conditions > maxConditions {
		return nil, errorAt(p.token.at, "the query has more than %d comparisons: use in (…) for many values", maxConditions)
	}
	field, err := p.field()
	if err != nil {
		return nil, err
	}
	if is, err := p.accept("is"); err != nil || is {
		return p.isNull(field, err)
	}
	negated, err := p.accept("not")
	if err != nil {
		return nil, err
	}
	switch {
	case p.token.is("in"):
		return p.in(field, negated)
	case p.token.is("between"):
		return p.between(field, negated)
	case negated && p.scanner.temporal && p.token.is(string(StartsWith)):
		e, err := p.compare(field)
		return And{IsNull{field, true}, Not{e}}, err // as with the other negations, there must be a value
	case negated && p.scanner.temporal:
		return nil, p.expected("in, between or starts_with after not")
	case negated:
		return nil, p.expected("in or between after not")
	}
	return p.compare(field)
}

func (p *parser) isNull(field Field, err error) (Expr, error) {
	if err != nil {
		return nil, err
	}
	negated, err := p.accept("not")
	if err != nil {
		return nil, err
	}
	return IsNull{field, negated}, p.expect("null")
}

// ops are the comparisons in the order in which errors list them.
var ops = []Op{Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, StartsWith}

func (p *parser) compare(field Field) (Expr, error) {
	for _, op := range ops {
		if !p.token.is(string(op)) {
			continue
		}
		if err := p.suits(field, op); err != nil {
			return nil, err
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		at := p.token.at
		value, err := p.value(field, op)
		if err == nil && p.isWords(field) {
			return words(field, []Value{value}, op == NotEqual, at)
		}
		return Compare{field, op, value}, err
	}
	if p.token.is("like") {
		return nil, errorAt(p.token.at, "there is no like: use starts_with for the beginning of a string")
	}
	return nil, p.expected("=, !=, <, <=, >, >=, in, not in, between, starts_with or is null")
}

// suits reports a comparison that makes no sense for the type of a field.
func (p *parser) suits(field Field, op Op) error {
	kind := field.Kind()
	switch {
	case (field == executionStatus || field == workerStatus) && op != Equal && op != NotEqual:
		return errorAt(p.token.at, "%s is one of some names: use =, != or in, not %s", field, op)
	case kind == Boolean && op != Equal && op != NotEqual:
		return errorAt(p.token.at, "%s is true or false: use = or !=, not %s", field, op)
	case op == StartsWith && kind != "" && kind != Text:
		return errorAt(p.token.at, "%s is %s, and only a string starts with something", field, kind.describe())
	}
	return p.suitsAttribute(field, op)
}

func (p *parser) in(field Field, negated bool) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var values []Value
	for at := p.token.at; ; {
		value, err := p.value(field, Equal)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		more, err := p.accept(",")
		if err != nil {
			return nil, err
		}
		if more {
			continue
		}
		if !p.token.is(")") {
			return nil, p.expected(", or )")
		}
		if err := p.advance(); err != nil || !p.isWords(field) {
			return In{field, values, negated}, err
		}
		return words(field, values, negated, at)
	}
}

func (p *parser) between(field Field, negated bool) (Expr, error) {
	switch {
	case field.Kind() == Boolean:
		return nil, errorAt(p.token.at, "%s is true or false: use = or !=, not between", field)
	case field == executionStatus, field == workerStatus:
		return nil, errorAt(p.token.at, "%s is one of some names: use =, != or in, not between", field)
	}
	if err := p.suitsAttribute(field, "between"); err != nil {
		return nil, err
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	low, err := p.value(field, GreaterOrEqual)
	if err != nil {
		return nil, err
	}
	if err := p.expect("and"); err != nil {
		return nil, err
	}
	at := p.token.at
	high, err := p.value(field, LessOrEqual)
	if err == nil && !low.comparable(high) {
		err = errorAt(at, "between needs two values of one type, not %s and %s", low.Kind.describe(), high.Kind.describe())
	}
	return Between{field, low, high, negated}, err
}

// field reads the name of a field.
func (p *parser) field() (Field, error) {
	switch {
	case p.executions:
		return p.executionField()
	case p.workers:
		return p.workerField()
	case p.scanner.temporal:
		return p.scheduleField()
	}
	return p.ownField()
}

// ownField reads the name of a field of a schedule, as Carillon names it.
func (p *parser) ownField() (Field, error) {
	at, word := p.token.at, p.token.text
	if err := p.advance(); err != nil {
		return Field{}, err
	}
	for _, source := range sources {
		name, ok := strings.CutPrefix(word, string(source)+".")
		if !ok {
			continue
		}
		// A name of other characters stands in quotes: attr.'Größe'.
		if name == "" && p.token.kind == textToken && p.token.at == at+len(word) {
			name = p.token.text
			return Field{source, name}, p.advance()
		}
		if name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			return Field{}, errorAt(at+len(source)+1, "expected a name after %s., in quotes if it has other characters than a-z, A-Z, "+
				"0-9, _, - and .", source)
		}
		return Field{source, name}, nil
	}
	field := Field{BuiltIn, word}
	if field.Kind() == "" {
		return Field{}, unknownField(at, word)
	}
	return field, nil
}

func unknownField(at int, word string) error {
	known := append(BuiltIns(), "memo.NAME", "attr.NAME", "scheduleMemo.NAME", "scheduleAttr.NAME")
	if meant := suggest.Nearest(word, known); meant != "" {
		return errorAt(at, "there is no field %s: did you mean %s?", shorten(word), meant)
	}
	return errorAt(at, "there is no field %s: use one of %s", shorten(word), strings.Join(known, ", "))
}
