package search

import (
	"context"
	"math"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// SQLite knows how often the values of a column occur on average, but not, for example, that hardly any run has failed. If a
// condition leaves few schedules, it is faster to find and sort those than to go through all in order, which SQLite may prefer.

// statement returns a statement for a query of d.
func (d *database) statement(ctx context.Context) *statement { return d.statementWith(ctx, d.few) }

// statementWith returns a statement for a query of d, which begins with a condition on attributes if it holds for few of them.
func (d *database) statementWith(ctx context.Context, few int) *statement {
	return &statement{few: func(table string, condition *statement) bool {
		return d.countUpTo(ctx, few, table+" AS a", condition) <= few
	}}
}

// listStatement returns a statement for a page of executions. To try them in order takes the longer the more there are, so the more may match where
// a query begins with those that match: four times as many executions, twice as many matches.
func (d *database) listStatement(ctx context.Context) *statement {
	few := float64(d.few) * max(1, math.Sqrt(float64(d.executionsAtMost(ctx))/fewSchedulesOf))
	return d.statementWith(ctx, int(few))
}

// countStatement returns a statement that looks at all executions that match. A match that is looked up costs about as much as four that are tried.
func (d *database) countStatement(ctx context.Context) *statement {
	return d.statementWith(ctx, max(d.few, d.executionsAtMost(ctx)/4))
}

// executionsAtMost is how many executions there may be: exactly as many if none has been removed. It takes no time.
func (d *database) executionsAtMost(ctx context.Context) (n int) {
	// If it fails, the query itself will show what is wrong.
	_ = d.reader.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) FROM executions").Scan(&n)
	return n
}

// countUpTo counts the rows of a table for which a condition holds, up to most. most+1 means more, or unknown: then the query
// itself will show what is wrong.
func (d *database) countUpTo(ctx context.Context, most int, table string, condition *statement) int {
	var count int
	err := d.reader.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+table+" WHERE "+
		condition.sql.String()+" LIMIT ?)", append(slices.Clone(condition.args), most+1)...).Scan(&count)
	if err != nil {
		return most + 1
	}
	return count
}

// fewest finds, among the conditions that must all hold and have a column with its own index, the one that leaves the fewest
// schedules, and returns that number. It counts up to d.few. d.few+1 means more, or that there is no such condition.
func (d *database) fewest(ctx context.Context, in scope) int {
	fewest := d.few + 1
	for _, e := range conditions(in.query) {
		if isIndexed(e) {
			var s statement
			s.scope(in.namespace, "", &query.Query{Where: e})
			fewest = min(fewest, d.countUpTo(ctx, d.few, "schedules AS s", &s))
		}
	}
	return fewest
}

// conditions returns the conditions that must all hold.
func conditions(q *query.Query) []query.Expr {
	switch where := q.Where.(type) {
	case nil:
		return nil
	case query.And:
		return where
	}
	return []query.Expr{q.Where}
}

// fieldOf returns the field of a condition; ok is false for a compound condition.
func fieldOf(e query.Expr) (field query.Field, ok bool) {
	switch e := e.(type) {
	case query.Compare:
		return e.Field, true
	case query.In:
		return e.Field, true
	case query.Between:
		return e.Field, true
	case query.IsNull:
		return e.Field, true
	}
	return field, false
}

// isIndexed reports whether a condition asks for certain values of a column with its own index.
func isIndexed(e query.Expr) bool {
	switch e := e.(type) {
	case query.Compare:
		if e.Op != query.Equal {
			return false
		}
	case query.In:
		if e.Negated {
			return false
		}
	default:
		return false
	}
	field, _ := fieldOf(e)
	switch field.Name {
	case query.Paused, query.Type, query.TaskQueue, query.LastStatus:
		return field.Source == query.BuiltIn
	}
	return false
}

// isCovered reports whether the index by_id has everything that an ordered query needs. Reading it from end to end takes less
// time than looking up some thousands of schedules.
func isCovered(q *query.Query) bool {
	return isShort(q.Order.Field) && !slices.ContainsFunc(conditions(q), func(e query.Expr) bool {
		field, ok := fieldOf(e)
		return !ok || !isShort(field)
	})
}

// isShort reports whether the index by_id has a field.
func isShort(field query.Field) bool {
	return field.Source == query.BuiltIn && field.Name != query.Notes && field.Name != query.WorkflowID
}
