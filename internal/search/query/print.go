package query

import (
	"strconv"
	"strings"
	"time"
)

// precedence says how tightly an expression binds.
type precedence int

const (
	loosest precedence = iota
	withinOr
	withinAnd
	withinNot
)

// String returns the query as a text. [Parse] makes the same query of it, if it is one that Parse has made.
func (q *Query) String() string {
	var w printer
	if q.Where != nil {
		q.Where.write(&w, loosest)
	}
	if q.Order != nil {
		w.add("order by", q.Order.Field.String())
		if q.Order.Desc {
			w.add("desc")
		}
	}
	if q.Group != nil {
		w.add("group by", q.Group.String())
	}
	return w.b.String()
}

// printer writes words with spaces in between.
type printer struct {
	b strings.Builder
	// tight says that no space comes next.
	tight bool
}

func (w *printer) add(words ...string) {
	for _, word := range words {
		if w.b.Len() > 0 && !w.tight {
			w.b.WriteByte(' ')
		}
		w.tight = false
		w.b.WriteString(word)
	}
}

func (w *printer) open() {
	w.add("(")
	w.tight = true
}

func (w *printer) close() { w.b.WriteByte(')') }

func (e And) write(w *printer, within precedence) { w.list("and", e, withinAnd, within) }

func (e Or) write(w *printer, within precedence) { w.list("or", e, withinOr, within) }

func (w *printer) list(between string, parts []Expr, own, within precedence) {
	if within >= own {
		w.open()
		defer w.close()
	}
	for i, part := range parts {
		if i > 0 {
			w.add(between)
		}
		part.write(w, own)
	}
}

func (e Not) write(w *printer, _ precedence) {
	w.add("not")
	e.Expr.write(w, withinNot)
}

func (e Compare) write(w *printer, _ precedence) {
	w.add(e.Field.String(), string(e.Op), literal(e.Field, e.Value))
}

func (e In) write(w *printer, _ precedence) {
	w.add(e.Field.String())
	w.negate(e.Negated)
	w.add("in")
	w.open()
	for i, value := range e.Values {
		if i > 0 {
			w.tight = true
			w.add(",")
		}
		w.add(literal(e.Field, value))
	}
	w.close()
}

func (e Between) write(w *printer, _ precedence) {
	w.add(e.Field.String())
	w.negate(e.Negated)
	w.add("between", literal(e.Field, e.Low), "and", literal(e.Field, e.High))
}

func (e IsNull) write(w *printer, _ precedence) {
	w.add(e.Field.String(), "is")
	w.negate(e.Negated)
	w.add("null")
}

func (w *printer) negate(negated bool) {
	if negated {
		w.add("not")
	}
}

// literal returns a value as a query has it. In a query about executions or workers, a backslash stands before quotes and backslashes.
func literal(field Field, v Value) string {
	if v.Kind == Text && (field.Source == Execution || field.Source == Custom || field.Source == Worker) {
		v.Text = strings.ReplaceAll(v.Text, `\`, `\\`)
	}
	return v.String()
}

// String returns the value as a query about schedules has it.
func (v Value) String() string {
	switch v.Kind {
	case Text:
		return quote(v.Text)
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Double:
		text := strconv.FormatFloat(v.Double, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0" // or it would be a whole number
		}
		return text
	case Boolean:
		return strconv.FormatBool(v.Bool)
	case Time:
		return quote(v.Time.Format(time.RFC3339Nano))
	}
	return ""
}
