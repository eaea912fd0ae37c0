package search

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxGroups is how many groups a count has at most.
const maxGroups = 1000

// Count is how many executions there are.
type Count struct {
	// Total is how many a query holds for. One with several values of an attribute is in several groups, and in Total once.
	Total int64
	// Groups are the groups, if the query asks for some: those with the most executions first, and by value among equals. Statuses are in the order of
	// their numbers.
	Groups []Group
}

// Group is how many executions have a value.
type Group struct {
	// Value is the value; its Kind is empty for those without one.
	Value query.Value
	Count int64
}

// CountExecutions counts what Executions would return without a limit. A count with more than 1,000 groups is an error of the code
// invalid_argument.
func (x *Index) CountExecutions(ctx context.Context, namespace string, q *query.Query) (count Count, upTo time.Time, err error) {
	err = x.read(x.executions, func(d *database) error {
		upTo = x.executions.status.upTo()
		count, err = d.count(ctx, namespace, q)
		return err
	})
	if len(count.Groups) > maxGroups {
		err = schedule.Invalid("query", "more than %d groups: group by something with fewer values", maxGroups)
	}
	return count, upTo, err
}

func (d *database) count(ctx context.Context, namespace string, q *query.Query) (count Count, err error) {
	if q.Group != nil {
		if count.Groups, err = d.groups(ctx, namespace, q); err != nil {
			return count, err
		}
		if _, ok := columnOf(*q.Group); ok && len(count.Groups) <= maxGroups { // each execution is in one group
			for _, g := range count.Groups {
				count.Total += g.Count
			}
			return count, nil
		}
	}
	var s *statement
	if equal, ok := q.Where.(query.Compare); ok && equal.Op == query.Equal && equal.Field.Source == query.Custom {
		s = &statement{namespace: namespace} // an execution has a value once
		s.add("SELECT count(*) FROM execution_attributes AS a WHERE ")
		s.named(s, equal.Field)
		s.add(" AND a.class = ? AND a.value = ?", classOf(equal.Value), sqlValue(equal.Value))
	} else {
		s = d.countStatement(ctx)
		s.add("SELECT count(*) FROM executions AS s WHERE ")
		s.scope(namespace, "", q)
	}
	return count, d.reader.QueryRowContext(ctx, s.sql.String(), s.args...).Scan(&count.Total)
}

// groups counts by the values of a field. One group more than there may be means that there are too many.
func (d *database) groups(ctx context.Context, namespace string, q *query.Query) (groups []Group, err error) {
	s := d.groupStatement(ctx, namespace, q)
	rows, err := d.reader.QueryContext(ctx, s.sql.String(), s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var class string
		var value any
		var g Group
		if err := rows.Scan(&class, &value, &g.Count); err != nil {
			return nil, err
		}
		g.Value = fromSQL(class, value)
		groups = append(groups, g)
	}
	return groups, rows.Err()
}

// groupStatement selects the class, the value and the count of each group.
func (d *database) groupStatement(ctx context.Context, namespace string, q *query.Query) *statement {
	s := d.countStatement(ctx)
	column, by, order := "a.value", "1, 2", "many DESC, "
	if own, ok := columnOf(*q.Group); ok {
		column, by = own, own // an index may have it in order
		if q.Group.Name == query.ExecutionStatus {
			order = "" // Temporal's development server has it so, and clients count on it
		}
		s.add("SELECT '', " + column + ", count(*) AS many FROM executions AS s WHERE ")
	} else if q.Where == nil {
		return groupAll(namespace, q.Group.Name)
	} else {
		s.add(`SELECT coalesce(a.class, ''), a.value, count(*) AS many FROM executions AS s
			LEFT JOIN execution_attributes AS a ON a.owner = s.number AND a.name = ? AND `+grouped+` WHERE `, q.Group.Name, string(query.Time))
	}
	s.scope(namespace, "", q)
	s.add(" GROUP BY "+by+" ORDER BY "+order+column+" LIMIT ?", maxGroups+1)
	return s
}

// grouped is what holds for a value that makes a group. A string that says a time is there twice, and what has no comparable value counts as none.
const grouped = "a.class NOT IN ('', ?)"

// groupAll is groupStatement for all executions by an attribute. The index of the values has them in order: to look up the value of each execution takes
// several times as long. Those that are in no group have no value.
func groupAll(namespace, name string) *statement {
	s, none := &statement{namespace: namespace}, string(query.Time)
	const values = " FROM execution_attributes AS a WHERE a.namespace = ? AND a.name = ? AND " + grouped
	s.add("SELECT * FROM (SELECT a.class, a.value AS value, count(*) AS many"+values+" GROUP BY 1, 2", namespace, name, none)
	s.add(" UNION ALL SELECT '', NULL, (SELECT count(*) FROM executions WHERE namespace = ?)", namespace)
	s.add(" - (SELECT count(*) FROM (SELECT 1"+values+" GROUP BY a.owner))", namespace, name, none)
	s.add(") WHERE many > 0 ORDER BY many DESC, value LIMIT ?", maxGroups+1)
	return s
}

// fromSQL returns a value of a column, or one of an attribute of a class. Kind is empty if there is none.
func fromSQL(class string, value any) query.Value {
	switch value := value.(type) {
	case string:
		return query.TextOf(value)
	case int64:
		if class == string(query.Boolean) {
			return query.BoolOf(value != 0)
		}
		return query.IntOf(value)
	case float64:
		return query.DoubleOf(value)
	}
	return query.Value{}
}
