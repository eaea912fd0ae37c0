// Package querygen makes random queries for tests. Its names and values are few, so that queries find something.
//
// The package may import internal/search/query, and nothing else of Carillon.
package querygen

import (
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// Texts are strings that queries and rows have: some are times, some begin alike, some would break SQL that they got into.
var Texts = []string{
	"", "a", "ab", "abc", "b", "A", "ä", "it's", "' OR 1=1 --", "a\x00b", "%", "\xff", "a\xff",
	"2026-06-01", "2026-06-01T12:00:00Z", "2026-06-01T14:00:00+02:00", "2026-06-02T00:00:00.123456789Z",
}

// Names are those of entries of memo and search attributes.
var Names = []string{"x", "y.z", "it's", "größe"}

// Times are datetimes.
var Times = []time.Time{
	time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC),
	time.Date(2026, 6, 2, 0, 0, 0, 123456000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
}

// Doubles and Ints are numbers, some of which are equal, and some of which rounding would make equal.
var (
	Doubles = []float64{0, 1, -1.5, 1e300, 9007199254740992}
	Ints    = []int64{0, 1, -1, 2, 1000, 1_000_000, 9007199254740993, -9223372036854775808}
)

// Query makes a query about schedules, with an order or without.
func Query() *rapid.Generator[*query.Query] {
	return rapid.Custom(func(t *rapid.T) *query.Query {
		q := &query.Query{}
		if rapid.IntRange(0, 9).Draw(t, "where") > 0 {
			q.Where = expr(t, fields(), 3)
		}
		if rapid.Bool().Draw(t, "ordered") {
			name := rapid.SampledFrom(query.BuiltIns()).Filter(func(s string) bool { return s != query.Notes }).Draw(t, "order")
			q.Order = &query.Order{Field: query.Field{Name: name}, Desc: rapid.Bool().Draw(t, "desc")}
		}
		return q
	})
}

// Executions makes a query about executions, with an order or without.
func Executions() *rapid.Generator[*query.Query] {
	return rapid.Custom(func(t *rapid.T) *query.Query {
		q := &query.Query{}
		if rapid.IntRange(0, 9).Draw(t, "where") > 0 {
			q.Where = expr(t, executionFields(), 3)
		}
		if rapid.Bool().Draw(t, "ordered") {
			q.Order = &query.Order{Field: executionFields().Draw(t, "order"), Desc: rapid.Bool().Draw(t, "desc")}
			if isDynamic(q.Order.Field) {
				q.Order.Kind = rapid.SampledFrom([]query.Kind{query.Text, query.Int, query.Boolean, query.Time}).Draw(t, "kind")
			}
		}
		return q
	})
}

func executionField() *rapid.Generator[query.Field] {
	return rapid.Custom(func(t *rapid.T) query.Field {
		return query.Field{Source: query.Execution, Name: rapid.SampledFrom(query.ExecutionFields()).Draw(t, "name")}
	})
}

func executionFields() *rapid.Generator[query.Field] {
	custom := rapid.Custom(func(t *rapid.T) query.Field {
		return query.Field{Source: query.Custom, Name: rapid.SampledFrom(Names).Draw(t, "name")}
	})
	return rapid.OneOf(executionField(), custom)
}

func expr(t *rapid.T, fields *rapid.Generator[query.Field], depth int) query.Expr {
	kind := "atom"
	if depth > 0 {
		kind = rapid.SampledFrom([]string{"atom", "and", "or", "not"}).Draw(t, "kind")
	}
	switch kind {
	case "and":
		var and query.And
		for _, part := range parts(t, fields, depth) {
			if inner, ok := part.(query.And); ok {
				and = append(and, inner...)
			} else {
				and = append(and, part)
			}
		}
		return and
	case "or":
		var or query.Or
		for _, part := range parts(t, fields, depth) {
			if inner, ok := part.(query.Or); ok {
				or = append(or, inner...)
			} else {
				or = append(or, part)
			}
		}
		return or
	case "not":
		return query.Not{Expr: expr(t, fields, depth-1)}
	}
	return atom(t, fields)
}

func parts(t *rapid.T, fields *rapid.Generator[query.Field], depth int) (list []query.Expr) {
	for range rapid.IntRange(2, 3).Draw(t, "parts") {
		list = append(list, expr(t, fields, depth-1))
	}
	return list
}

func atom(t *rapid.T, fields *rapid.Generator[query.Field]) query.Expr {
	field := fields.Draw(t, "field")
	kind := field.Kind()
	if isDynamic(field) {
		kind = rapid.SampledFrom([]query.Kind{query.Text, query.Int, query.Double, query.Boolean, query.Time}).Draw(t, "type")
	}
	negated := rapid.Bool().Draw(t, "negated")
	switch form := rapid.SampledFrom([]string{"compare", "compare", "in", "between", "null"}).Draw(t, "form"); {
	case form == "null":
		return query.IsNull{Field: field, Negated: negated}
	case form == "in":
		values := rapid.SliceOfN(value(field, kind), 1, 3).Draw(t, "values")
		if isDynamic(field) {
			values = append(values, value(field, query.Int).Draw(t, "other"))
		}
		return query.In{Field: field, Values: values, Negated: negated}
	case form == "between" && kind != query.Boolean && field.Name != query.ExecutionStatus:
		return query.Between{
			Field: field, Low: value(field, kind).Draw(t, "low"), High: value(field, kind).Draw(t, "high"), Negated: negated,
		}
	}
	return query.Compare{Field: field, Op: op(field, kind).Draw(t, "op"), Value: value(field, kind).Draw(t, "value")}
}

// isDynamic reports whether the values of a field have any type.
func isDynamic(field query.Field) bool { return field.Kind() == "" }

func fields() *rapid.Generator[query.Field] {
	return rapid.Custom(func(t *rapid.T) query.Field {
		source := rapid.SampledFrom([]query.Source{
			query.BuiltIn, query.BuiltIn, query.BuiltIn, query.Memo, query.SearchAttribute, query.ScheduleMemo, query.ScheduleAttribute,
		}).Draw(t, "source")
		if source != query.BuiltIn {
			return query.Field{Source: source, Name: rapid.SampledFrom(Names).Draw(t, "name")}
		}
		return query.Field{Name: rapid.SampledFrom(query.BuiltIns()).Draw(t, "name")}
	})
}

func op(field query.Field, kind query.Kind) *rapid.Generator[query.Op] {
	ops := []query.Op{query.Equal, query.NotEqual}
	if kind != query.Boolean && field.Name != query.ExecutionStatus {
		ops = append(ops, query.Less, query.LessOrEqual, query.Greater, query.GreaterOrEqual)
	}
	if kind == query.Text {
		ops = append(ops, query.StartsWith)
	}
	return rapid.SampledFrom(ops)
}

// value makes a value of a type that a field may be compared with.
func value(field query.Field, kind query.Kind) *rapid.Generator[query.Value] {
	return rapid.Custom(func(t *rapid.T) query.Value {
		switch kind {
		case query.Int:
			if field.Name == query.ExecutionStatus {
				return query.IntOf(rapid.Int64Range(1, 7).Draw(t, "status"))
			}
			return query.IntOf(rapid.SampledFrom(Ints).Draw(t, "int"))
		case query.Double:
			return query.DoubleOf(rapid.SampledFrom(Doubles).Draw(t, "double"))
		case query.Boolean:
			return query.BoolOf(rapid.Bool().Draw(t, "bool"))
		case query.Time:
			return query.TimeOf(rapid.SampledFrom(Times).Draw(t, "time"))
		case query.Text:
		}
		if field.Name == query.LastStatus {
			return query.TextOf(rapid.SampledFrom([]string{"completed", "failed"}).Draw(t, "status"))
		}
		text := rapid.SampledFrom(Texts).Draw(t, "text")
		if isDynamic(field) && strings.HasPrefix(text, "2026") {
			text = "20" // that would be a time
		}
		return query.TextOf(text)
	})
}
