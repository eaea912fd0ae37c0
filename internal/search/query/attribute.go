package query

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/attributes"
	"github.com/carillon-scheduler/carillon/internal/suggest"
)

// executionField reads the name of a field of an execution. What is none of those that every execution has is a search attribute.
func (p *parser) executionField() (Field, error) {
	t := p.token
	if t.text == "" {
		return Field{}, errorAt(t.at, "expected a name in the backquotes")
	}
	field, err := p.resolve(t)
	if err != nil {
		return Field{}, err
	}
	return field, p.advance()
}

// resolve finds out what a name stands for. In backquotes, a name that nobody knows is right as it is.
func (p *parser) resolve(t token) (Field, error) {
	if field := (Field{Execution, t.text}); field.Kind() != "" {
		return field, nil
	}
	custom := Field{Custom, t.text}
	if _, known := p.attribute(custom); known || t.kind == nameToken {
		return custom, nil
	}
	if name, ok := attributes.Alias(t.text); ok {
		if field := (Field{Execution, name}); field.Kind() != "" {
			return field, nil
		}
		return Field{Custom, name}, nil
	}
	if meant := p.meant(t.text); meant != "" {
		return Field{}, errorAt(t.at, "no execution has %s: did you mean %s? The name of a search attribute may stand in backquotes: %s",
			shorten(t.text), meant, backquote(shorten(t.text)))
	}
	return custom, nil
}

// meant returns the name that somebody has mistyped, if a name looks like that: one that is nearly a name of the service, or of an attribute that was
// added, or that differs from the name of another attribute only in case. Further attributes that were not added may well have similar names.
func (p *parser) meant(name string) string {
	all := ExecutionFields()
	for predefined := range attributes.All() {
		if !slices.Contains(all, predefined) {
			all = append(all, predefined)
		}
	}
	var alike []string
	for known, attribute := range p.known {
		switch {
		case attribute.Added:
			all = append(all, known)
		case strings.EqualFold(known, name):
			alike = append(alike, known)
		}
	}
	slices.Sort(all)
	if meant := suggest.Nearest(name, all); meant != "" {
		return meant
	}
	if len(alike) == 0 {
		return ""
	}
	return slices.Min(alike)
}

// attribute returns what is known about a field that is a search attribute.
func (p *parser) attribute(field Field) (Attribute, bool) {
	if field.Source != Custom {
		return Attribute{}, false
	}
	if kind, ok := attributes.Predefined(field.Name); ok {
		return Attribute{Type: kind, Added: true}, true
	}
	known, ok := p.known[field.Name]
	return known, ok
}

// isWords reports whether a field is a text, which is compared word by word.
func (p *parser) isWords(field Field) bool {
	known, _ := p.attribute(field)
	return known.Type == enums.INDEXED_VALUE_TYPE_TEXT
}

// suitsAttribute reports a comparison that makes no sense for the type of a search attribute.
func (p *parser) suitsAttribute(field Field, op Op) error {
	known, _ := p.attribute(field)
	equality := op == Equal || op == NotEqual
	switch {
	case p.isWords(field) && !equality:
		return errorAt(p.token.at, "%s is a text, whose words are compared: use =, != or in, not %s", field, op)
	case !known.Added:
		return nil
	case known.Type == enums.INDEXED_VALUE_TYPE_BOOL && !equality:
		return errorAt(p.token.at, "%s is true or false: use = or !=, not %s", field, op)
	case op == StartsWith && known.Type != enums.INDEXED_VALUE_TYPE_KEYWORD && known.Type != enums.INDEXED_VALUE_TYPE_KEYWORD_LIST:
		return errorAt(p.token.at, "%s has the type %s, and only a keyword starts with something", field, known.Type)
	}
	return nil
}

// attributeValue makes a value of the type of a search attribute. A value of another type is a mistake if the type is certain.
func (p *parser) attributeValue(field Field, op Op, value Value, t token) (Value, error) {
	known, isKnown := p.attribute(field)
	if !isKnown {
		return dynamic(value, op), nil
	}
	if as, ok := ofType(value, known.Type); ok {
		return as, nil
	}
	if !known.Added {
		return dynamic(value, op), nil
	}
	if known.Type == enums.INDEXED_VALUE_TYPE_DATETIME && value.Kind == Text {
		return Value{}, noTime(field, t)
	}
	return Value{}, errorAt(t.at, "%s has the type %s, and cannot be compared with %s", field, known.Type, value.Kind.describe())
}

// ofType returns a value as one of the type of a search attribute; ok is false if it is none.
func ofType(value Value, kind enums.IndexedValueType) (as Value, ok bool) {
	switch kind {
	case enums.INDEXED_VALUE_TYPE_KEYWORD, enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, enums.INDEXED_VALUE_TYPE_TEXT:
		return value, value.Kind == Text
	case enums.INDEXED_VALUE_TYPE_INT, enums.INDEXED_VALUE_TYPE_DOUBLE:
		return value, value.Kind == Int || value.Kind == Double
	case enums.INDEXED_VALUE_TYPE_BOOL:
		return value, value.Kind == Boolean
	case enums.INDEXED_VALUE_TYPE_DATETIME:
		if value.Kind == Int {
			return TimeOf(time.Unix(0, value.Int)), true
		}
		at, ok := parseTime(value.Text)
		return TimeOf(at), ok && value.Kind == Text
	}
	return Value{}, false
}

// orders are the types of values by which search attributes of a type are ordered. A text and a list have none.
var orders = map[enums.IndexedValueType]Kind{
	enums.INDEXED_VALUE_TYPE_KEYWORD: Text, enums.INDEXED_VALUE_TYPE_INT: Int, enums.INDEXED_VALUE_TYPE_DOUBLE: Int,
	enums.INDEXED_VALUE_TYPE_BOOL: Boolean, enums.INDEXED_VALUE_TYPE_DATETIME: Time,
}

// words makes a comparison with a text: it equals each of its words, in any case.
func words(field Field, values []Value, negated bool, at int) (Expr, error) {
	in := In{Field: field, Negated: negated}
	for _, value := range values {
		for _, word := range Words(strings.ToLower(value.Text)) {
			in.Values = append(in.Values, TextOf(word))
		}
	}
	if len(in.Values) == 0 {
		return nil, errorAt(at, "expected a word: %s is a text, whose words are compared", field)
	}
	return in, nil
}

// Words returns the words of a text: what is between characters that are neither letters nor digits.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
