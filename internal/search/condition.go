package search

import (
	"strings"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// columns has the columns of the built-in fields of schedules, executionColumns those of executions.
var columns = map[string]string{
	query.ID: "id", query.Paused: "paused", query.Type: "type", query.TaskQueue: "task_queue",
	query.WorkflowID: "workflow_id", query.NextTime: "next_time", query.LastStatus: "last_status",
	query.LastTime: "last_time", query.Running: "running", query.Waiting: "waiting",
	query.CreateTime: "create_time", query.UpdateTime: "update_time", query.Notes: "notes",
}

var executionColumns = map[string]string{
	query.WorkflowIDOf: "workflow_id", query.RunID: "run_id", query.WorkflowType: "type", query.ExecutionStatus: "status",
	query.StartTime: "start_time", query.ExecutionTime: "execution_time", query.CloseTime: "close_time",
	query.ExecutionDuration: "duration", query.QueueOf: "task_queue", query.HistoryLength: "events", query.HistorySizeBytes: "bytes",
	query.StateTransitionCount: "transitions", query.ParentWorkflowID: "parent_workflow_id", query.ParentRunID: "parent_run_id",
	query.RootWorkflowID: "root_workflow_id", query.RootRunID: "root_run_id",
}

// columnOf returns the column of a field; ok is false for one whose values are in a table of attributes.
func columnOf(field query.Field) (column string, ok bool) {
	switch field.Source {
	case query.BuiltIn:
		column, ok = columns[field.Name]
	case query.Execution:
		column, ok = executionColumns[field.Name]
	case query.Memo, query.SearchAttribute, query.ScheduleMemo, query.ScheduleAttribute, query.Custom, query.Worker:
	}
	return column, ok
}

// attributesOf returns the table with the values of a field that has no column.
func attributesOf(field query.Field) string {
	if field.Source == query.Custom {
		return "execution_attributes"
	}
	return "attributes"
}

// statement is an SQL statement under construction. Nothing from outside becomes part of its text.
type statement struct {
	sql  strings.Builder
	args []any
	// namespace is that of scope.
	namespace string
	// few reports whether a condition on a table of attributes holds for few of them; nil means unknown.
	few func(table string, condition *statement) bool
}

// add appends SQL. Each ? in it stands for one of the arguments.
func (s *statement) add(sql string, args ...any) {
	s.sql.WriteString(sql)
	s.args = append(s.args, args...)
}

// scope keeps the schedules of a namespace whose ID begins with a prefix and for which a query holds.
//
// SQL has a third truth value, a query does not. If a value is missing, an SQL comparison is unknown. That counts as false
// everywhere except below a negation, so IS NOT TRUE is used there in place of NOT.
func (s *statement) scope(namespace, prefix string, q *query.Query) {
	s.namespace = namespace
	s.add("s.namespace = ?", namespace)
	if prefix != "" {
		s.add(" AND ")
		s.startsWith("id", prefix)
	}
	if q.Where != nil {
		s.add(" AND ")
		s.expr(q.Where)
	}
}

func (s *statement) expr(e query.Expr) {
	switch e := e.(type) {
	case query.And:
		s.join(" AND ", e)
	case query.Or:
		s.join(" OR ", e)
	case query.Not:
		s.add("(")
		s.expr(e.Expr)
		s.add(") IS NOT TRUE")
	case query.IsNull:
		s.isNull(e)
	case query.Compare:
		s.atom(e.Field, []query.Value{e.Value}, e.Op == query.NotEqual, func(s *statement, column string, _ []query.Value) {
			s.isLong(e)
			s.compare(column, e.Op, e.Value)
		})
	case query.In:
		s.atom(e.Field, e.Values, e.Negated, (*statement).in)
	case query.Between:
		s.atom(e.Field, []query.Value{e.Low}, e.Negated, func(s *statement, column string, _ []query.Value) {
			s.add(column+" BETWEEN ? AND ?", sqlValue(e.Low), sqlValue(e.High))
		})
	}
}

func (s *statement) join(between string, parts []query.Expr) {
	s.add("(")
	for i, part := range parts {
		if i > 0 {
			s.add(between)
		}
		s.expr(part)
	}
	s.add(")")
}

// test writes a condition on a column whose values compare with those given.
type test func(s *statement, column string, values []query.Value)

// atom writes a condition on one field. Negated, it requires a value of the same class as those it is compared with, and no value
// that passes the test.
func (s *statement) atom(field query.Field, values []query.Value, negated bool, test test) {
	if column, ok := columnOf(field); ok {
		s.column(column, values, negated, test)
		return
	}
	classes := byClass(values)
	s.add("(")
	if !negated {
		s.classes(field, classes, " OR ", "", test)
		s.add(")")
		return
	}
	s.classes(field, classes, " OR ", "", nil)
	s.add(") AND (")
	s.classes(field, classes, " AND ", "NOT ", test)
	s.add(")")
}

// column writes a condition on a field with a column.
func (s *statement) column(column string, values []query.Value, negated bool, test test) {
	switch {
	case negated: // unknown stays unknown: a missing value is not a different value
		s.add("NOT (")
	case column == closeTime:
		s.add("(" + isClosed + " AND ")
		column = closed
	default:
		s.add("(")
	}
	test(s, column, values)
	s.add(")")
}

// isLong writes what the index of long histories holds for, if a comparison asks for nothing else: SQLite then knows that the index has all of it.
func (s *statement) isLong(e query.Compare) {
	if e.Op != query.Greater && e.Op != query.GreaterOrEqual || e.Field.Source != query.Execution {
		return
	}
	switch {
	case e.Field.Name == query.HistoryLength && e.Value.Int >= 1000:
		s.add("events >= 1000 AND ")
	case e.Field.Name == query.HistorySizeBytes && e.Value.Int >= 1_000_000:
		s.add("bytes >= 1000000 AND ")
	}
}

// The indexes of executions have closed, which is close_time, or greater than any if there is none.
const (
	closeTime = "close_time"
	closed    = "closed"
	isClosed  = "closed < 9223372036854775807"
	isOpen    = "closed = 9223372036854775807"
)

// presence returns conditions for a column that has a value, and for one that has none.
func presence(column string) (present, missing string) {
	if column == closeTime || column == closed {
		return isClosed, isOpen
	}
	return column + " IS NOT NULL", column + " IS NULL"
}

// classValues are values that can be compared with each other.
type classValues struct {
	class  string
	values []query.Value
}

// byClass groups values by class, in the order in which the classes first occur.
func byClass(values []query.Value) (groups []classValues) {
	at := map[string]int{}
	for _, v := range values {
		class := classOf(v)
		i, ok := at[class]
		if !ok {
			i, at[class] = len(groups), len(groups)
			groups = append(groups, classValues{class: class})
		}
		groups[i].values = append(groups[i].values, v)
	}
	return groups
}

// classes writes conditions on the attributes of each class.
func (s *statement) classes(field query.Field, groups []classValues, between, not string, test test) {
	for i, group := range groups {
		if i > 0 {
			s.add(between)
		}
		var inner statement
		s.named(&inner, field)
		inner.add(" AND a.class = ?", group.class)
		if test != nil {
			inner.add(" AND ")
			test(&inner, "a.value", group.values)
		}
		s.exists(not, attributesOf(field), &inner)
	}
}

// named keeps the attributes that are a field.
func (s *statement) named(inner *statement, field query.Field) {
	if field.Source == query.Custom {
		inner.add("a.namespace = ? AND a.name = ?", s.namespace, field.Name)
	} else {
		inner.add("a.source = ? AND a.name = ?", string(field.Source), field.Name)
	}
}

// exists asks whether a schedule or an execution has an attribute. With few matching attributes it is faster to begin with them, with many to
// begin with the schedules. SQLite cannot tell the difference.
func (s *statement) exists(not, table string, inner *statement) {
	if not == "" && s.few != nil && s.few(table, inner) {
		s.add("s.number IN (SELECT a.owner FROM " + table + " AS a WHERE ")
	} else {
		s.add(not + "EXISTS (SELECT 1 FROM " + table + " AS a WHERE a.owner = s.number AND ")
	}
	s.add(inner.sql.String(), inner.args...)
	s.add(")")
}

func (s *statement) isNull(e query.IsNull) {
	if column, ok := columnOf(e.Field); ok {
		present, missing := presence(column)
		if e.Negated {
			missing = present
		}
		s.add(missing)
		return
	}
	if !e.Negated {
		s.add("NOT ")
	}
	var inner statement
	s.named(&inner, e.Field)
	s.add("EXISTS (SELECT 1 FROM "+attributesOf(e.Field)+" AS a WHERE a.owner = s.number AND "+inner.sql.String()+")", inner.args...)
}

// compare writes a comparison. Inequality is the negation of equality; the caller writes the negation.
func (s *statement) compare(column string, op query.Op, value query.Value) {
	switch op {
	case query.StartsWith:
		s.startsWith(column, value.Text)
	case query.NotEqual:
		s.add(column+" = ?", sqlValue(value))
	case query.Equal, query.Less, query.LessOrEqual, query.Greater, query.GreaterOrEqual:
		s.add(column+" "+string(op)+" ?", sqlValue(value))
	}
}

func (s *statement) in(column string, values []query.Value) {
	s.add(column + " IN (")
	for i, v := range values {
		if i > 0 {
			s.add(", ")
		}
		s.add("?", sqlValue(v))
	}
	s.add(")")
}

// startsWith writes a range, so that an index can be used.
func (s *statement) startsWith(column, prefix string) {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 { // all strings do
		s.add(column+" >= ?", prefix)
		return
	}
	end[len(end)-1]++
	s.add("("+column+" >= ? AND "+column+" < ?)", prefix, string(end))
}

// sqlValue returns a value as stored in the tables.
func sqlValue(v query.Value) any {
	switch v.Kind {
	case query.Text:
		return v.Text
	case query.Int:
		return v.Int
	case query.Double:
		return v.Double
	case query.Boolean:
		return sqlBool(v.Bool)
	case query.Time:
		return v.Time.UnixMicro()
	}
	return nil
}

// sqlBool returns a truth value as SQLite stores it.
func sqlBool(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// classOf returns the class of a value. Values of different classes cannot be compared.
func classOf(v query.Value) string {
	if v.Kind == query.Double {
		return string(query.Int)
	}
	return string(v.Kind)
}
