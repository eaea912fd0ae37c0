package query

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Row is a schedule, an execution or a worker as a query sees it. It returns the values of a field: none if it has no value, several for a list, and
// for a string that says a time, the string and the time. Present says that there is a value, also where it is one that
// cannot be compared, such as an object.
type Row interface {
	Values(field Field) (values []Value, present bool)
}

// Matches reports whether the condition of the query holds for a schedule, an execution or a worker.
func (q *Query) Matches(row Row) bool { return q.Where == nil || holds(q.Where, row) }

func holds(e Expr, row Row) bool {
	switch e := e.(type) {
	case And:
		return !slices.ContainsFunc(e, func(part Expr) bool { return !holds(part, row) })
	case Or:
		return slices.ContainsFunc(e, func(part Expr) bool { return holds(part, row) })
	case Not:
		return !holds(e.Expr, row)
	case Compare:
		if e.Op == NotEqual {
			return none(row, e.Field, []Value{e.Value}, e.Value.equals)
		}
		return some(row, e.Field, func(v Value) bool { return v.satisfies(e.Op, e.Value) })
	case In:
		equal := func(v Value) bool { return slices.ContainsFunc(e.Values, v.equals) }
		if e.Negated {
			return none(row, e.Field, e.Values, equal)
		}
		return some(row, e.Field, equal)
	case Between:
		inside := func(v Value) bool { return v.satisfies(GreaterOrEqual, e.Low) && v.satisfies(LessOrEqual, e.High) }
		if e.Negated {
			return none(row, e.Field, []Value{e.Low}, inside)
		}
		return some(row, e.Field, inside)
	case IsNull:
		_, present := row.Values(e.Field)
		return present == e.Negated
	}
	return false
}

// some reports whether a value of a field is as wanted.
func some(row Row, field Field, wanted func(Value) bool) bool {
	values, _ := row.Values(field)
	return slices.ContainsFunc(values, wanted)
}

// none reports whether a field has a value that compares with one of those given, and none that is unwanted.
func none(row Row, field Field, with []Value, unwanted func(Value) bool) bool {
	alike := func(v Value) bool { return slices.ContainsFunc(with, v.comparable) }
	return some(row, field, alike) && !some(row, field, unwanted)
}

// equals reports whether two values are the same one.
func (v Value) equals(other Value) bool { return v.satisfies(Equal, other) }

// comparable reports whether two values have an order: whole and other numbers do.
func (v Value) comparable(other Value) bool { return v.Kind.class() == other.Kind.class() }

// class is what types have in common that can be compared.
func (k Kind) class() Kind {
	if k == Double {
		return Int
	}
	return k
}

// satisfies reports whether v, on the left, compares with other in that way.
func (v Value) satisfies(op Op, other Value) bool {
	if !v.comparable(other) {
		return false
	}
	if op == StartsWith {
		return v.Kind == Text && strings.HasPrefix(v.Text, other.Text)
	}
	order := order(v, other)
	switch op {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	case StartsWith:
	}
	return false
}

// order compares two values that are comparable.
func order(a, b Value) int {
	switch a.Kind {
	case Text:
		return cmp.Compare(a.Text, b.Text)
	case Boolean:
		return cmp.Compare(number01(a.Bool), number01(b.Bool))
	case Time:
		return a.Time.Compare(b.Time)
	case Int:
		if b.Kind == Double {
			return -orderDouble(b.Double, a.Int)
		}
		return cmp.Compare(a.Int, b.Int)
	case Double:
		if b.Kind == Int {
			return orderDouble(a.Double, b.Int)
		}
		return cmp.Compare(a.Double, b.Double)
	}
	return 0
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// orderDouble compares without a rounding: not every whole number of 64 bits is a float64.
func orderDouble(f float64, n int64) int {
	switch {
	case f >= math.MaxInt64: // which is rounded up
		return 1
	case f < math.MinInt64:
		return -1
	}
	whole := math.Trunc(f)
	return cmp.Or(cmp.Compare(int64(whole), n), cmp.Compare(f, whole))
}
