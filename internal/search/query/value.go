package query

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/suggest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// value reads a value that a field is compared with.
func (p *parser) value(field Field, op Op) (Value, error) {
	at := p.token
	value, err := p.literal()
	if err != nil {
		return Value{}, err
	}
	switch field.Source {
	case Memo, SearchAttribute, ScheduleMemo, ScheduleAttribute:
		value = dynamic(value, op)
	case Custom:
		value, err = p.attributeValue(field, op, value, at)
	case Execution:
		value, err = executionValue(field, value, at)
	case Worker:
		value, err = workerValue(field, value, at)
	case BuiltIn:
		value, err = typed(field, op, value, at)
	}
	if err != nil {
		return Value{}, err
	}
	return value, p.advance()
}

// literal makes a value of the token, without reading on.
func (p *parser) literal() (Value, error) {
	switch t := p.token; {
	case t.kind == textToken:
		return TextOf(t.text), nil
	case t.kind == numberToken:
		return number(t)
	case t.is("true"), t.is("false"):
		return BoolOf(t.is("true")), nil
	case t.is("null"):
		return Value{}, errorAt(t.at, "nothing compares with null: use is null, or is not null")
	case t.kind == wordToken && suggest.Nearest(t.text, []string{"true", "false"}) != "":
		return Value{}, errorAt(t.at, "expected a value, found %s: did you mean %s?", t.describe(),
			suggest.Nearest(t.text, []string{"true", "false"}))
	case t.kind == wordToken && !isKeyword(t.text):
		return Value{}, errorAt(t.at, "expected a value, found %s: strings stand in single quotes", t.describe())
	}
	return Value{}, p.expected("a value: a string in single quotes, a number, true or false")
}

func number(t token) (Value, error) {
	if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
		return IntOf(n), nil
	}
	// Hexadecimal digits, underscores, infinities and the like would be numbers to Go as well.
	plain := strings.Trim(t.text, "0123456789.eE+-") == ""
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil || !plain || math.IsInf(f, 0) {
		return Value{}, errorAt(t.at, "%s is not a number, or not one of 64 bits; times and other strings stand in single quotes",
			t.describe())
	}
	return DoubleOf(f), nil
}

// typed makes a value of the type of a built-in field.
func typed(field Field, op Op, value Value, t token) (Value, error) {
	kind := field.Kind()
	if kind == Time && value.Kind == Text {
		at, ok := parseTime(value.Text)
		if !ok {
			return Value{}, noTime(field, t)
		}
		return TimeOf(at), nil
	}
	if value.Kind != kind {
		return Value{}, errorAt(t.at, "%s is %s, and cannot be compared with %s", field, kind.describe(), value.Kind.describe())
	}
	if field.Name == LastStatus && (op == Equal || op == NotEqual) {
		return value, knownStatus(value.Text, t)
	}
	return value, nil
}

func noTime(field Field, t token) error {
	return errorAt(t.at, "%s is a datetime, and %s none: use a date such as '2027-01-31', or a time such as '2027-01-31T09:00:00Z'",
		field, t.describe())
}

// knownStatus finds the status that no run can have.
func knownStatus(text string, t token) error {
	var known []string
	for _, status := range schedule.Statuses() {
		known = append(known, string(status))
	}
	if slices.Contains(known, text) {
		return nil
	}
	if meant := suggest.Nearest(text, known); meant != "" {
		return errorAt(t.at, "no run ends as %s: did you mean %s?", t.describe(), quote(meant))
	}
	return errorAt(t.at, "no run ends as %s: use one of %s", t.describe(), strings.Join(known, ", "))
}

// dynamic is the value that entries of memo and search attributes are compared with: a string that says a time is a
// datetime, as in [Values].
func dynamic(value Value, op Op) Value {
	if value.Kind == Text && op != StartsWith {
		if t, ok := parseTime(value.Text); ok {
			return TimeOf(t)
		}
	}
	return value
}

// parseTime reads a time in RFC 3339, or a date, which stands for its midnight in UTC.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		// Parse would take a comma as well where there are fractions.
		if t, err := time.Parse(layout, text); err == nil && !strings.Contains(text, ",") {
			return t, inRange(t)
		}
	}
	return time.Time{}, false
}

// inRange keeps out what RFC 3339 cannot say in UTC.
func inRange(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}

// describe names a type in a sentence.
func (k Kind) describe() string {
	switch k {
	case Text:
		return "a string"
	case Int:
		return "a whole number"
	case Double:
		return "a number with a fraction"
	case Boolean:
		return "true or false"
	case Time:
		return "a datetime"
	}
	return string(k)
}
