package search

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// Position is the place of a schedule in the order of a query. The zero Position is the beginning.
type Position struct {
	// ID is the ID of the schedule.
	ID string
	// Value is the value that the list is ordered by: a string, an int64, or nil if the schedule has no value. It is also nil if
	// the order is by ID.
	Value any
}

// List returns the positions of the schedules of a namespace whose ID begins with prefix and for which a query holds. They are in
// the order of the query, at most limit of those after a position. A page begins after a position and not at a number, so
// schedules that come and go elsewhere neither repeat nor hide others.
func (x *Index) List(
	ctx context.Context, namespace, prefix string, q *query.Query, after Position, limit int,
) (positions []Position, upTo time.Time, err error) {
	err = x.read(x.schedules, func(d *database) (err error) {
		upTo = x.schedules.status.upTo()
		positions, err = d.list(ctx, scope{namespace: namespace, prefix: prefix, query: q}, after, limit)
		return err
	})
	return positions, upTo, err
}

// Count returns how many schedules List would return without a limit.
func (x *Index) Count(ctx context.Context, namespace, prefix string, q *query.Query) (count int, upTo time.Time, err error) {
	err = x.read(x.schedules, func(d *database) error {
		upTo = x.schedules.status.upTo()
		s := d.statement(ctx)
		s.add("SELECT count(*) FROM schedules AS s WHERE ")
		s.scope(namespace, prefix, q)
		return d.reader.QueryRowContext(ctx, s.sql.String(), s.args...).Scan(&count)
	})
	return count, upTo, err
}

// IDs returns the IDs of the schedules for which a query holds, at most limit of those after an ID; an empty ID means from the
// beginning. They are ordered by ID, whatever the order of the query is.
func (x *Index) IDs(ctx context.Context, namespace string, q *query.Query, after string, limit int) ([]string, error) {
	var ids []string
	err := x.read(x.schedules, func(d *database) error {
		all := scope{namespace: namespace, query: &query.Query{Where: q.Where}}
		positions, err := d.list(ctx, all, Position{ID: after}, limit)
		for _, p := range positions {
			ids = append(ids, p.ID)
		}
		return err
	})
	return ids, err
}

// scope is what a list covers.
type scope struct {
	namespace, prefix string
	query             *query.Query
	// table is the table to read from; empty means the table of schedules, by a plan of SQLite's choice.
	table string
}

// list first reads the schedules that have a value to order by, and then those without.
func (d *database) list(ctx context.Context, in scope, after Position, limit int) ([]Position, error) {
	order := in.query.Order
	if order == nil || order.Field.Name == query.ID {
		return d.segment(ctx, in, segment{column: "", desc: order != nil && order.Desc}, after, limit)
	}
	column := columns[order.Field.Name]
	switch fewest := d.fewest(ctx, in); {
	case fewest <= d.few/10:
		column = "+" + column // the same value, but no index
	case fewest <= d.few && isCovered(in.query):
		in.table, column = "schedules AS s INDEXED BY by_id", "+"+column
	}
	var found []Position
	if after.ID == "" || after.Value != nil {
		var err error
		found, err = d.segment(ctx, in, segment{column, order.Desc, false}, after, limit)
		if err != nil || len(found) == limit {
			return found, err
		}
		after = Position{}
	}
	rest, err := d.segment(ctx, in, segment{column, order.Desc, true}, after, limit-len(found))
	return append(found, rest...), err
}

// segment is a part of a list that one index has in order.
type segment struct {
	// column is what comes before the ID in the order; empty means nothing.
	column string
	desc   bool
	// missing selects the schedules without a value.
	missing bool
}

func (d *database) segment(ctx context.Context, in scope, part segment, after Position, limit int) ([]Position, error) {
	s := d.statement(ctx)
	part.write(s, in, after)
	s.add(" LIMIT ?", limit)
	rows, err := d.reader.QueryContext(ctx, s.sql.String(), s.args...)
	if err != nil {
		return nil, err
	}
	return readPositions(rows)
}

func (p segment) write(s *statement, in scope, after Position) {
	value := p.column
	if value == "" || p.missing {
		value = "NULL"
	}
	s.add("SELECT id, " + value + " FROM " + cmp.Or(in.table, "schedules AS s") + " WHERE ")
	s.scope(in.namespace, in.prefix, in.query)
	p.begin(s, after)
	p.order(s)
}

// begin skips everything up to a position.
func (p segment) begin(s *statement, after Position) {
	more := ">"
	if p.desc {
		more = "<"
	}
	switch {
	case p.missing:
		s.add(" AND " + p.column + " IS NULL")
	case p.column != "":
		s.add(" AND " + p.column + " IS NOT NULL")
	}
	switch {
	case after.ID == "":
	case p.column == "" || p.missing:
		s.add(" AND id "+more+" ?", after.ID)
	default:
		s.add(" AND ("+p.column+", id) "+more+" (?, ?)", after.Value, after.ID)
	}
}

func (p segment) order(s *statement) {
	direction := ""
	if p.desc {
		direction = " DESC"
	}
	s.add(" ORDER BY ")
	if p.column != "" && !p.missing {
		s.add(p.column + direction + ", ")
	}
	s.add("id" + direction)
}

func readPositions(rows *sql.Rows) (positions []Position, err error) {
	defer rows.Close()
	for rows.Next() {
		var p Position
		if err := rows.Scan(&p.ID, &p.Value); err != nil {
			return nil, err
		}
		positions = append(positions, p)
	}
	return positions, rows.Err()
}
