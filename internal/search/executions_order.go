package search

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// executionsByAttribute returns executions in the order of a search attribute: first those that have a value of its type, and then those without.
func (d *database) executionsByAttribute(
	ctx context.Context, namespace string, q *query.Query, after ExecutionPosition, limit int,
) (found []FoundExecution, err error) {
	more, direction := ">", ""
	if q.Order.Desc {
		more, direction = "<", " DESC"
	}
	name, class := q.Order.Field.Name, string(q.Order.Kind)
	if after.RunID == "" || after.Value != nil {
		s := d.listStatement(ctx)
		s.add(`WITH found AS (SELECT s.number AS number, a.value AS value FROM executions AS s JOIN execution_attributes AS a ON a.owner = s.number
			WHERE a.namespace = ? AND a.name = ? AND a.class = ? AND a.value = (SELECT min(b.value) FROM execution_attributes AS b
				WHERE b.owner = s.number AND b.name = a.name AND b.class = a.class) AND `, namespace, name, class)
		s.scope(namespace, "", q)
		if after.RunID != "" {
			s.add(" AND (a.value, s.run_id) "+more+" (?, ?)", after.Value, after.RunID)
		}
		s.add(" ORDER BY a.value"+direction+", s.run_id"+direction+" LIMIT ?)", limit)
		s.add(" SELECT found.value, " + executionInfo + " FROM found JOIN executions ON executions.number = found.number" +
			" ORDER BY found.value" + direction + ", run_id" + direction)
		if found, err = d.scanExecutions(ctx, s); err != nil || len(found) == limit {
			return found, err
		}
		after = ExecutionPosition{}
	}
	rest, err := d.executionsOf(ctx, namespace, q, limit-len(found), "NULL", "run_id"+direction, func(s *statement) {
		s.add(" AND NOT EXISTS (SELECT 1 FROM execution_attributes AS a WHERE a.owner = s.number AND a.name = ? AND a.class = ?)", name, class)
		if after.RunID != "" {
			s.add(" AND run_id "+more+" ?", after.RunID)
		}
	})
	return append(found, rest...), err
}
